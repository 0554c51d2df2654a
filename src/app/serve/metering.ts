import { appendFile } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import type { RelayCore } from '../../domain/relay-core.ts';
import type { Metered } from '../../domain/usage/statistics.ts';
import type { LogEvent } from '../../interfaces/http/deps.ts';
import type { Config } from '../config.ts';
import { postJson } from './post-json.ts';

/** Figures that wait for a webhook that does not answer; beyond it the oldest go, and the log says so. */
const WAITING = 10_000;
const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 300_000;

/**
 * Hands on what is used as it is counted, to a file or to an address, both of the operator's choosing. At least once: each line
 * has an id by which a line that came twice can be told. Gives the way to stop.
 */
export function startMetering(
  core: RelayCore,
  { metering_file: file, metering_webhook: url }: Pick<Config, 'metering_file' | 'metering_webhook'>,
  log: (event: LogEvent) => void,
): () => Promise<void> {
  const webhook = url === null ? null : new Webhook(url, log);
  let writing: Promise<void> = Promise.resolve();
  if (file !== null || webhook) {
    core.usage.statistics.onWritten = (rows) => {
      webhook?.add(rows);
      if (file === null) return;
      const lines = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
      writing = writing
        .then(() => appendFile(file, lines, { mode: 0o600 }))
        .catch((error) => log({ level: 'error', event: 'metering-failed', error: String(error) }));
    };
  }
  return async () => {
    await writing;
    await webhook?.stop();
  };
}

class Webhook {
  readonly #url: string;
  readonly #log: (event: LogEvent) => void;
  readonly #stopping = new AbortController();
  #waiting: Metered[] = [];
  #sending: Promise<void> | null = null;

  constructor(url: string, log: (event: LogEvent) => void) {
    this.#url = url;
    this.#log = log;
  }

  add(rows: readonly Metered[]): void {
    this.#waiting.push(...rows);
    const lost = this.#waiting.length - WAITING;
    if (lost > 0) {
      this.#waiting.splice(0, lost);
      this.#log({ level: 'error', event: 'metering-lost', rows: lost });
    }
    this.#sending ??= this.#send();
  }

  /** One last try; what does not arrive then is in the statistics all the same. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#sending;
  }

  /** Sends what waits, and begins again after a while where that fails. */
  async #send(): Promise<void> {
    const { signal } = this.#stopping;
    let retryMs = FIRST_RETRY_MS;
    while (this.#waiting.length > 0) {
      const last = signal.aborted;
      const rows = this.#waiting.slice(0, 1000);
      try {
        await postJson(this.#url, { usage: rows }, 'it');
        retryMs = FIRST_RETRY_MS;
        const sent = new Set(rows);
        this.#waiting = this.#waiting.filter((row) => !sent.has(row));
      } catch (error) {
        this.#log({ level: 'warn', event: 'metering-not-sent', error: String(error), retry_ms: retryMs });
        if (last) break;
        // Ends early when it is told to stop.
        await setTimeout(retryMs, null, { signal, ref: false }).catch(() => {});
        retryMs = Math.min(retryMs * 2, LAST_RETRY_MS);
      }
    }
    this.#sending = null;
  }
}
