import { randomBytes } from 'node:crypto';
import { appendFile } from 'node:fs/promises';
import { pause } from '../../base/pause.ts';
import type { RelayCore } from '../../domain/relay-core.ts';
import type { AnsweredRequest, LogEvent } from '../../interfaces/http/deps.ts';
import type { Config } from '../config.ts';

/** This file sends reports to addresses that the operator configured: usage, and one span per request. */

type Log = (event: LogEvent) => void;

/**
 * Maximum number of queued usage rows. If the queue is full, the oldest rows are dropped and the log says so.
 */
const FIGURES_WAITING = 10_000;
/** Maximum number of queued spans. If the queue is full, the oldest spans are dropped and the log says so. */
const SPANS_WAITING = 2_048;
const SPANS_AFTER_MS = 2_000;
const ROWS_AT_ONCE = 1_000;
const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 300_000;
const POST_TIMEOUT_MS = 10_000;

/**
 * Writes each usage row to a file, posts it to an address, or both. A row may be delivered twice, so its id
 * lets the receiver find duplicates. Returns a function that delivers the remaining rows.
 */
export function startMetering(
  core: RelayCore,
  { metering_file: file, metering_webhook: url }: Pick<Config, 'metering_file' | 'metering_webhook'>,
  log: Log,
): () => Promise<void> {
  const webhook =
    url === null
      ? null
      : new PostQueue(url, { name: 'metering', most: FIGURES_WAITING, log }, (usage) => ({ usage }));
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
    // Try once more to send the queued rows. The statistics keep rows that cannot be delivered.
    await webhook?.flush();
  };
}

/**
 * Sends one span per request to a collector, in OTLP JSON. Created only if an endpoint is configured. A span
 * has the name of an operation and a status, never a path, an API key or a payload.
 */
export class TraceExporter {
  readonly #spans: PostQueue<ReturnType<typeof spanOf>>;

  constructor(endpoint: string, log: Log) {
    const url = endpoint.endsWith('/v1/traces') ? endpoint : `${endpoint}/v1/traces`;
    const resource = { attributes: [text('service.name', 'contextrelay')] };
    const o = { name: 'traces', most: SPANS_WAITING, afterMs: SPANS_AFTER_MS, log };
    this.#spans = new PostQueue(url, o, (spans) => ({
      resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'http' }, spans }] }],
    }));
  }

  add(seen: AnsweredRequest): void {
    this.#spans.add([spanOf(seen)]);
  }

  /** Sends the queued spans. Resolves when they are delivered or given up. */
  flush(): Promise<void> {
    return this.#spans.flush();
  }
}

const SERVER_KIND = 2;
const [UNSET, ERROR] = [0, 2];

function spanOf(seen: AnsweredRequest) {
  const parent = /^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/.exec(seen.traceparent ?? '');
  return {
    traceId: parent?.[1] ?? randomBytes(16).toString('hex'),
    spanId: randomBytes(8).toString('hex'),
    parentSpanId: parent?.[2],
    name: seen.operation,
    kind: SERVER_KIND,
    startTimeUnixNano: nanoseconds(seen.at),
    endTimeUnixNano: nanoseconds(seen.at + seen.ms),
    attributes: [
      text('http.request.method', seen.method),
      { key: 'http.response.status_code', value: { intValue: String(seen.status) } },
      ...(seen.id === null ? [] : [text('relay.request', seen.id)]),
      ...(seen.caller === null ? [] : [text('relay.tenant', seen.caller.tenant)]),
    ],
    status: { code: seen.status >= 500 ? ERROR : UNSET },
  };
}

function text(key: string, stringValue: string) {
  return { key, value: { stringValue } };
}

function nanoseconds(ms: number): string {
  return (BigInt(Math.round(ms * 1000)) * 1000n).toString();
}

interface QueueOptions {
  /** Prefix of this queue's event names in the log. */
  readonly name: string;
  /** Maximum number of queued rows. */
  readonly most: number;
  /** Time in ms that a queued row waits for other rows, so that they share a request. */
  readonly afterMs?: number;
  readonly log: Log;
}

/** Posts queued rows in batches. After a failure it waits and tries again. A redirect counts as a failure. */
class PostQueue<T> {
  readonly #url: string;
  readonly #o: QueueOptions;
  readonly #body: (rows: readonly T[]) => unknown;
  readonly #reported = new Set<string>();
  #waiting: T[] = [];
  #sending: Promise<void> | null = null;
  #hurry = new AbortController();

  constructor(url: string, o: QueueOptions, body: (rows: readonly T[]) => unknown) {
    this.#url = url;
    this.#o = o;
    this.#body = body;
  }

  add(rows: readonly T[]): void {
    this.#waiting.push(...rows);
    const lost = this.#waiting.splice(0, Math.max(0, this.#waiting.length - this.#o.most)).length;
    if (lost > 0) this.#report('error', 'lost', { rows: lost });
    this.#sending ??= this.#send();
  }

  /** Sends queued rows now, with at most one retry. */
  async flush(): Promise<void> {
    this.#hurry.abort();
    await this.#sending;
  }

  async #send(): Promise<void> {
    let pauseMs = this.#o.afterMs ?? 0;
    while (this.#waiting.length > 0) {
      await pause(pauseMs, this.#hurry.signal);
      const last = this.#hurry.signal.aborted;
      const rows = this.#waiting.slice(0, ROWS_AT_ONCE);
      try {
        await this.#post(rows);
        const sent = new Set(rows);
        this.#waiting = this.#waiting.filter((row) => !sent.has(row));
        this.#reported.clear();
        pauseMs = 0;
      } catch (error) {
        this.#report('warn', 'not-sent', { error: String(error) });
        if (last) break;
        pauseMs = Math.min(Math.max(pauseMs * 2, FIRST_RETRY_MS), LAST_RETRY_MS);
      }
    }
    this.#sending = null;
    if (this.#hurry.signal.aborted) this.#hurry = new AbortController();
  }

  async #post(rows: readonly T[]): Promise<void> {
    const response = await fetch(this.#url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(this.#body(rows)),
      redirect: 'error',
      signal: AbortSignal.timeout(POST_TIMEOUT_MS),
    });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`it answered with ${response.status}`);
  }

  /** Logs a problem once until the next successful delivery. */
  #report(level: 'warn' | 'error', what: string, fields: object): void {
    if (this.#reported.has(what)) return;
    this.#reported.add(what);
    this.#o.log({ level, event: `${this.#o.name}-${what}`, ...fields });
  }
}
