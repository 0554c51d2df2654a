import { isRelayError, RelayError } from '../../base/errors.ts';
import { pause } from '../../base/pause.ts';
import type { Connection, PublishOptions, StorageLimit } from './connection.ts';

/**
 * Time in ms between two polls of the account's usage. NATS nodes exchange their usage every 1.5 s, so more
 * polls would give no newer figures.
 */
const POLL_MS = 2_000;

const POLL_TIMEOUT_MS = 5_000;

/** Fraction of the storage limit that is reserved for deletions, but at most `RESERVE_BYTES`. */
const RESERVE_SHARE = 0.05;
/** Maximum number of bytes that are reserved for deletions. */
const RESERVE_BYTES = 256 * 1024 * 1024;

/** Maximum time in ms to wait until the reported usage reflects freed storage. */
const FREED_TIMEOUT_MS = 5_000;
const PAUSE_MS = 500;

/** Fractions of the storage limit at which `relay status` shows a warning, highest first. */
const WARN_AT = [0.9, 0.8];

interface Tier {
  readonly storage?: number;
  readonly limits?: { readonly max_storage?: number };
}

/**
 * Storage of the NATS account and its limit. At the limit, JetStream rejects every message, even one that replaces a
 * larger message. Only purges and deletions still work. So the relay stops accepting new data before the limit, and
 * reserves the rest for messages that are part of a deletion.
 */
export class AccountStorage implements StorageLimit {
  readonly #connection: Connection;
  readonly #replicas: number;
  readonly #timer: NodeJS.Timeout;
  #polling: Promise<void> | null = null;
  #used = 0;
  /** Storage limit in bytes. Null if the account has no limit or has not answered yet. */
  #limit: number | null = null;
  /**
   * Values of `publishedBytes` at the last two polls, newest first. The usage that NATS reports may be one poll
   * interval old, so all bytes that were published since the earlier poll are added to the usage.
   */
  #publishedAtPolls: readonly [number, number] = [0, 0];

  constructor(connection: Connection, replicas: number) {
    this.#connection = connection;
    this.#replicas = replicas;
    this.#timer = setInterval(() => void this.poll(), POLL_MS);
    this.#timer.unref();
  }

  /**
   * Reads the usage and the limit of the account. Never rejects: if NATS does not answer, the last known values stay.
   */
  poll(): Promise<void> {
    this.#polling ??= this.#poll()
      .catch(() => {})
      .finally(() => {
        this.#polling = null;
      });
    return this.#polling;
  }

  end(): void {
    clearInterval(this.#timer);
  }

  /**
   * Number of bytes that all replicas use together, and the limit for all of them. Null if the account has no limit.
   */
  get quota(): { readonly usedBytes: number; readonly limitBytes: number } | null {
    return this.#limit === null ? null : { usedBytes: this.#used, limitBytes: this.#limit };
  }

  get warnings(): string[] {
    if (this.#limit === null) return [];
    if (this.#used > this.#maxUsed) return [`${sentence(this.full())} ${HINT}`];
    const part = WARN_AT.find((least) => this.#used >= least * this.#limit!);
    if (part === undefined) return [];
    return [
      `The NATS account has used over ${part * 100} % of its storage limit of ${mebibytes(this.#limit)}. The data of every replica counts against it.`,
    ];
  }

  /** True if the usage plus the recently published data exceeds the limit minus the reserve. */
  get isTight(): boolean {
    const recent = (this.#connection.publishedBytes - this.#publishedAtPolls[1]) * this.#replicas;
    return this.#limit !== null && this.#used + recent > this.#maxUsed;
  }

  /**
   * Rejects with `store_full` if there is no room for new data. First waits until the reported usage includes recent
   * writes.
   */
  async admit(): Promise<void> {
    for (let polls = 0; this.isTight; polls++) {
      if (this.#used > this.#maxUsed || polls === 3) throw this.full();
      await pause(POLL_MS);
      await this.poll();
    }
  }

  full(): RelayError {
    const limit = this.#limit === null ? '' : ` (${mebibytes(this.#limit)} for all replicas together)`;
    return new RelayError('store_full', {
      what: `the NATS account is at its storage limit${limit}`,
      hint: HINT,
    });
  }

  /** Number of used bytes above which new data is rejected. */
  get #maxUsed(): number {
    const limit = this.#limit ?? Number.POSITIVE_INFINITY;
    return limit - Math.min(limit * RESERVE_SHARE, RESERVE_BYTES);
  }

  async #poll(): Promise<void> {
    const { publishedBytes, nats } = this.#connection;
    const info = (await nats.request('$JS.API.INFO', '', { timeout: POLL_TIMEOUT_MS })).json() as Tier & {
      tiers?: { readonly [name: string]: Tier };
      error?: unknown;
    };
    if (info.error !== undefined) return;
    // NATS reports the limit of a tier per replica, but the usage of a tier as the sum of all replicas.
    const tier = info.tiers?.[`R${this.#replicas}`];
    const limit = (tier ?? info).limits?.max_storage ?? -1;
    this.#used = (tier ?? info).storage ?? 0;
    this.#limit = limit < 0 ? null : limit * (tier ? this.#replicas : 1);
    this.#publishedAtPolls = [publishedBytes, this.#publishedAtPolls[0]];
  }
}

/**
 * Publishes a message that is part of a deletion. If the account is full, retries until the reported usage
 * reflects the freed storage, at most for `timeoutMs`.
 */
export async function publishWhenFreed(
  connection: Connection,
  subject: string,
  data: Uint8Array,
  o: PublishOptions,
  timeoutMs = FREED_TIMEOUT_MS,
): Promise<number | null> {
  for (const until = performance.now() + timeoutMs; ; await pause(PAUSE_MS)) {
    try {
      return await connection.publish(subject, data, { ...o, frees: true });
    } catch (error) {
      if (!isRelayError(error, 'store_full') || performance.now() >= until) throw error;
    }
  }
}

const HINT =
  'Delete data, run relay prune, or raise max_file of the account on every node. Deleting needs no free space.';

function sentence({ message }: RelayError): string {
  return message.replace(' Nothing was stored.', '');
}

function mebibytes(bytes: number): string {
  return `${Math.round(bytes / 1024 / 1024)} MiB`;
}
