import { isRelayError, RelayError } from '../../base/errors.ts';
import { pause } from '../../base/pause.ts';
import type { Connection, PublishOptions, StorageLimit } from './connection.ts';

/** How often the account's usage is polled. NATS nodes exchange their usage every 1.5 s. */
const LOOK_MS = 2_000;

const ANSWER_MS = 5_000;

/** Kept free for deletions: this part of the limit, up to this many bytes. */
const RESERVE_PART = 0.05;
const RESERVE_BYTES = 256 * 1024 * 1024;

/** How long it takes until an account counts what was freed, at most. */
const FREED_WITHIN_MS = 5_000;
const PAUSE_MS = 500;

/** Parts of the limit from which on whoever runs the relay is warned. */
const WARN_AT = [0.9, 0.8];

interface Tier {
  readonly storage?: number;
  readonly limits?: { readonly max_storage?: number };
}

/**
 * Storage of the NATS account against its limit. At the limit JetStream refuses every message, also one that is smaller than
 * what it replaces; only purging and deleting need no room. So the relay refuses new data a little earlier, and keeps
 * the rest for the messages that belong to deletions.
 */
export class AccountStorage implements StorageLimit {
  readonly #connection: Connection;
  readonly #replicas: number;
  readonly #timer: NodeJS.Timeout;
  #looking: Promise<void> | null = null;
  #used = 0;
  /** Null where the account has no limit, or does not tell it. */
  #limit: number | null = null;
  /** What this process had published by the last two looks: usage lags behind by less than the time between them. */
  #published: readonly [number, number] = [0, 0];

  constructor(connection: Connection, replicas: number) {
    this.#connection = connection;
    this.#replicas = replicas;
    this.#timer = setInterval(() => void this.look(), LOOK_MS);
    this.#timer.unref();
  }

  /** Never rejects: an account that cannot be asked counts as one without a limit until it answers. */
  look(): Promise<void> {
    this.#looking ??= this.#look()
      .catch(() => {})
      .finally(() => {
        this.#looking = null;
      });
    return this.#looking;
  }

  end(): void {
    clearInterval(this.#timer);
  }

  /** Bytes of all copies, and how many there may be; null without a limit. */
  get quota(): { readonly usedBytes: number; readonly limitBytes: number } | null {
    return this.#limit === null ? null : { usedBytes: this.#used, limitBytes: this.#limit };
  }

  get warnings(): string[] {
    if (this.#limit === null) return [];
    if (this.#used > this.#most) return [`${sentence(this.full())} ${HINT}`];
    const part = WARN_AT.find((least) => this.#used >= least * this.#limit!);
    if (part === undefined) return [];
    return [
      `The NATS account has used over ${part * 100} % of its storage limit of ${mebibytes(this.#limit)}, which every copy counts against.`,
    ];
  }

  /** Whether new data has to ask with `admit` first. */
  get isTight(): boolean {
    const recent = (this.#connection.published - this.#published[1]) * this.#replicas;
    return this.#limit !== null && this.#used + recent > this.#most;
  }

  /** Rejects with `store_full` where there is no room for new data. Waits for the account to count what was just published. */
  async admit(): Promise<void> {
    for (let looks = 0; this.isTight; looks++) {
      if (this.#used > this.#most || looks === 3) throw this.full();
      await pause(LOOK_MS);
      await this.look();
    }
  }

  full(): RelayError {
    const limit = this.#limit === null ? '' : ` (${mebibytes(this.#limit)}, which every copy counts against)`;
    return new RelayError('store_full', {
      what: `the NATS account is at its storage limit${limit}`,
      hint: HINT,
    });
  }

  get #most(): number {
    const limit = this.#limit ?? Number.POSITIVE_INFINITY;
    return limit - Math.min(limit * RESERVE_PART, RESERVE_BYTES);
  }

  async #look(): Promise<void> {
    const { published, nats } = this.#connection;
    const info = (await nats.request('$JS.API.INFO', '', { timeout: ANSWER_MS })).json() as Tier & {
      tiers?: { readonly [name: string]: Tier };
      error?: unknown;
    };
    if (info.error !== undefined) return;
    // The limit of a tier is for one copy; what it has used is told for all copies.
    const tier = info.tiers?.[`R${this.#replicas}`];
    const limit = (tier ?? info).limits?.max_storage ?? -1;
    this.#used = (tier ?? info).storage ?? 0;
    this.#limit = limit < 0 ? null : limit * (tier ? this.#replicas : 1);
    this.#published = [published, this.#published[0]];
  }
}

/** For a deletion that must leave a message behind. Waits until the account counts what the deletion has freed. */
export async function publishWhenFreed(
  connection: Connection,
  subject: string,
  data: Uint8Array,
  o: PublishOptions,
  patienceMs = FREED_WITHIN_MS,
): Promise<number | null> {
  for (const until = performance.now() + patienceMs; ; await pause(PAUSE_MS)) {
    try {
      return await connection.publish(subject, data, { ...o, frees: true });
    } catch (error) {
      if (!isRelayError(error, 'store_full') || performance.now() >= until) throw error;
    }
  }
}

const HINT =
  'Delete something, or run relay prune; or raise max_file of the account on every node. Deleting needs no room.';

function sentence({ message }: RelayError): string {
  return message.replace(' Nothing was stored.', '');
}

function mebibytes(bytes: number): string {
  return `${Math.round(bytes / 1024 / 1024)} MiB`;
}
