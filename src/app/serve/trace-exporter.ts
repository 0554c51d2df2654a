import { randomBytes } from 'node:crypto';
import type { LogEvent, RequestSeen } from '../../interfaces/http/deps.ts';
import { postJson } from './post-json.ts';

const SEND_AFTER_MS = 2_000;
/** Spans that wait to be sent; beyond it they are left out rather than memory used up. */
const WAITING = 2_048;
/** Not every failure is news: one line, then silence for as long. */
const TELL_AGAIN_MS = 300_000;

/**
 * One span per request, sent to a collector in OTLP's JSON form. Only made where the configuration names an endpoint.
 * A span holds an operation's name and a status, never a path, a key or a payload.
 */
export class TraceExporter {
  readonly #url: string;
  readonly #log: (event: LogEvent) => void;
  #waiting: ReturnType<typeof spanOf>[] = [];
  #timer: NodeJS.Timeout | null = null;
  #toldAt = Number.NEGATIVE_INFINITY;

  constructor(endpoint: string, log: (event: LogEvent) => void) {
    this.#url = endpoint.endsWith('/v1/traces') ? endpoint : `${endpoint}/v1/traces`;
    this.#log = log;
  }

  add(seen: RequestSeen): void {
    if (this.#waiting.length >= WAITING) return;
    this.#waiting.push(spanOf(seen));
    this.#timer ??= setTimeout(() => this.flush(), SEND_AFTER_MS).unref();
  }

  /** Sends what waits, and resolves once it is with the collector or was given up. */
  async flush(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#waiting.length === 0) return;
    const resource = { attributes: [text('service.name', 'contextrelay')] };
    const scopeSpans = [{ scope: { name: 'http' }, spans: this.#waiting }];
    this.#waiting = [];
    await postJson(this.#url, { resourceSpans: [{ resource, scopeSpans }] }, 'the collector').catch(
      (error) => {
        if (Date.now() - this.#toldAt < TELL_AGAIN_MS) return;
        this.#toldAt = Date.now();
        this.#log({ level: 'warn', event: 'traces-not-sent', error: String(error) });
      },
    );
  }
}

const SERVER_KIND = 2;
const [UNSET, ERROR] = [0, 2];

function spanOf(seen: RequestSeen) {
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
