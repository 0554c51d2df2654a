import { readThrough } from '../base/byte-streams.ts';
import { type ErrorCode, isErrorCode, isRelayError, RelayError } from '../base/errors.ts';
import { jsonObjectIn } from '../base/json.ts';
import { deferred, pause } from '../base/pause.ts';
import type { HttpMethod } from '../contract/verb.ts';
import type { ContextRelayOptions, RequestReport } from './options.ts';
import { collect, discardBody } from './payload.ts';

export interface HttpOptions
  extends Pick<
    ContextRelayOptions,
    'apiKey' | 'agent' | 'fetch' | 'timeout' | 'retries' | 'onConnection' | 'onRequest'
  > {
  /** `https://host`, with the path prefix of the relay if it has one. */
  readonly baseUrl: string;
  /** Aborts all running requests. */
  readonly signal?: AbortSignal;
  /** Replaces the pause between retries, for tests. */
  readonly sleep?: (ms: number, signal?: AbortSignal) => Promise<void>;
}

export interface HttpCall {
  readonly method: HttpMethod;
  readonly path: string;
  readonly query?: URLSearchParams;
  readonly headers?: Record<string, string>;
  readonly body?: Uint8Array | ReadableStream<Uint8Array>;
  /** True if the call may be sent again after a failure. A call whose body is a stream may not. */
  readonly repeatable: boolean;
  /** Name of the operation. The error message contains it if the caller aborts the operation. */
  readonly doing: string;
  readonly onAttempt?: () => void;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Response body. Reading it fails with a RelayError if the connection breaks, stalls or is aborted. */
  readonly body: ReadableStream<Uint8Array> | null;
}

const DEFAULT_TIMEOUT_MS = 60_000;
const DEFAULT_RETRIES = 3;
/**
 * Slowest upload speed that is accepted. `fetch` does not report the progress of an upload. So the deadline
 * of an upload is extended by the time that it takes at this speed.
 */
const SLOWEST_UPLOAD_BYTES_PER_MS = 128;
/**
 * If a response body has more bytes than this, it may take longer than the timeout, as long as bytes arrive.
 */
const LARGE_BODY_BYTES = 1024 * 1024;
/**
 * Maximum pause in ms between retries. If the server requests a longer pause (Retry-After), the call fails without a
 * retry.
 */
const LONGEST_WAIT_MS = 30_000;
const FIRST_WAIT_MS = 200;
const ERROR_BODY_BYTES = 64 * 1024;

/** Sends requests to one base URL with its API key and time limits. Retries calls that may be repeated. */
export class HttpClient {
  readonly base: string;
  /** True if the server has answered at least once. */
  answered = false;
  readonly #options: HttpOptions;
  readonly #fetch: typeof fetch;

  constructor(options: HttpOptions) {
    this.base = checkBaseUrl(options.baseUrl);
    this.#options = { ...options, apiKey: checkApiKey(options.apiKey) };
    // In browsers, `fetch` throws when it is called as a method of another object.
    this.#fetch = options.fetch ?? ((...request) => fetch(...request));
  }

  /**
   * Sends a call and reads the response with `read`. If reading fails, the whole call is retried. One deadline covers
   * all attempts. If `read` returns the body without reading it, the deadline ends there, and only the wait for each
   * next part of the body is limited.
   */
  async run<T>(
    call: HttpCall,
    read: (answer: HttpAnswer) => Promise<T>,
    deadline = this.deadline(call),
  ): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      const begun = performance.now();
      const report = (outcome: Pick<RequestReport, 'status' | 'error'>) => {
        const { doing: operation, method, path } = call;
        const ms = performance.now() - begun;
        this.#options.onRequest?.({ operation, method, path, attempt, ms, ...outcome });
      };
      try {
        call.onAttempt?.();
        const answer = await this.#send(call, deadline);
        const result = await read(answer);
        deadline.onlyProgress();
        report({ status: answer.status });
        return result;
      } catch (error) {
        report({ error: error as Error });
        await this.pause(call, error, attempt, deadline);
      }
    }
  }

  /** Returns the deadline of a call that starts now. */
  deadline({ body }: Pick<HttpCall, 'body'> = {}): Deadline {
    const extra = body instanceof Uint8Array ? body.byteLength / SLOWEST_UPLOAD_BYTES_PER_MS : 0;
    const deadline = new Deadline(this.#options.timeout ?? DEFAULT_TIMEOUT_MS, extra);
    // A stream is produced by the caller at any speed. So limit only the time without progress and not the
    // whole upload.
    if (body && !(body instanceof Uint8Array)) deadline.onlyProgress();
    return deadline;
  }

  /** Waits before the next attempt. If no further attempt is allowed, throws the error. */
  async pause(
    call: Pick<HttpCall, 'repeatable' | 'doing'>,
    error: unknown,
    attempt: number,
    deadline: Deadline,
  ): Promise<void> {
    const { retries = DEFAULT_RETRIES, sleep = pause, signal } = this.#options;
    if (!call.repeatable || attempt >= retries || !isTransient(error)) throw error;
    const retryAfterMs = Number(error.details.retry_after ?? 0) * 1000;
    if (retryAfterMs > LONGEST_WAIT_MS) throw error;
    const wait = Math.max(retryAfterMs, FIRST_WAIT_MS * 2 ** attempt * (0.5 + Math.random()));
    if (wait >= deadline.left()) throw error;
    await sleep(wait, signal);
    if (signal?.aborted) throw abortError(call.doing, signal);
  }

  async #send(call: HttpCall, deadline: Deadline): Promise<HttpAnswer> {
    const { apiKey, agent, signal } = this.#options;
    if (signal?.aborted) throw abortError(call.doing, signal);
    const limit = timeLimit(deadline, signal);
    let broken: RelayError | null = null;
    let hasAnswered = false;
    const upload = { stop: limit.stop, start: () => hasAnswered || limit.start() };
    const query = call.query?.size ? `?${call.query}` : '';
    const headers = {
      ...call.headers,
      ...(apiKey ? { Authorization: `Bearer ${apiKey}` } : {}),
      ...(agent ? { 'Relay-Agent': encodeURIComponent(agent) } : {}),
    };
    try {
      limit.start();
      const response = await this.#fetch(`${this.base}${call.path}${query}`, {
        method: call.method,
        headers,
        // A redirect could send the API key to another host, or lose the body. So follow it only for a GET
        // without an API key.
        redirect: apiKey || call.method !== 'GET' ? 'manual' : 'follow',
        signal: limit.signal,
        ...requestBody(call, upload, (reason) => {
          broken = reason;
        }),
      });
      hasAnswered = true;
      limit.stop();
      this.answered = true;
      if (Number(response.headers.get('content-length')) > LARGE_BODY_BYTES) deadline.onlyProgress();
      const body = response.body && this.#guarded(response.body, limit, call.doing);
      if (response.ok) return { status: response.status, headers: response.headers, body };
      throw await this.#failure(response, body);
    } catch (error) {
      limit.stop();
      if (isRelayError(error)) throw error;
      throw broken ?? this.#explain(error, limit, call.doing);
    }
  }

  async #failure(response: Response, body: ReadableStream<Uint8Array> | null): Promise<RelayError> {
    if (response.type === 'opaqueredirect' || (response.status >= 300 && response.status < 400)) {
      await discardBody(body);
      return redirectError(this.base, response.headers.get('location'));
    }
    const limit = { bytes: ERROR_BODY_BYTES, what: 'an error' };
    const text = body ? await collect(body, limit).catch(() => new Uint8Array()) : new Uint8Array();
    return failureOf(response.status, response.headers, new TextDecoder().decode(text), this.base);
  }

  #guarded(body: ReadableStream<Uint8Array>, limit: TimeLimit, doing: string): ReadableStream<Uint8Array> {
    return readThrough(body, async (next) => {
      try {
        limit.start();
        return await next();
      } catch (error) {
        throw this.#explain(error, limit, doing);
      } finally {
        limit.stop();
      }
    });
  }

  #explain(error: unknown, limit: TimeLimit, doing: string): RelayError {
    const { signal } = this.#options;
    if (signal?.aborted) return abortError(doing, signal);
    if (limit.isPassed())
      return new RelayError('timeout', { what: `no answer from ${this.base} within ${limit.ms / 1000} s` });
    return certificateError(error, this.base) ?? new RelayError('unreachable', { what: this.base }, error);
  }
}

/** The time left for a call, with all its attempts and pauses. */
export class Deadline {
  readonly ms: number;
  #at: number;

  constructor(ms: number, extra = 0) {
    this.ms = ms;
    this.#at = performance.now() + ms + extra;
  }

  /** Removes the deadline of the whole call. From then on, only each single wait is limited. */
  onlyProgress(): void {
    this.#at = Number.POSITIVE_INFINITY;
  }

  /** Returns how long the next wait may take, in ms. */
  left(): number {
    return this.#at === Number.POSITIVE_INFINITY ? this.ms : Math.max(0, this.#at - performance.now());
  }
}

/** Aborts one attempt if its deadline passes during a wait, or if the caller's signal aborts. */
function timeLimit(deadline: Deadline, signal: AbortSignal | undefined) {
  const late = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  return {
    ms: deadline.ms,
    isPassed: () => late.signal.aborted,
    signal: signal ? AbortSignal.any([signal, late.signal]) : late.signal,
    start(): void {
      clearTimeout(timer);
      if (Number.isFinite(deadline.ms)) timer = setTimeout(() => late.abort(), deadline.left());
    },
    stop: () => clearTimeout(timer),
  };
}

type TimeLimit = ReturnType<typeof timeLimit>;

/**
 * Builds the request body. `fetch` does not report why a stream failed, so the reason is passed to `broken`.
 */
function requestBody(
  { body }: HttpCall,
  limit: { readonly stop: () => void; readonly start: () => unknown },
  broken: (reason: RelayError) => void,
): RequestInit & { duplex?: 'half' } {
  if (body === undefined) return {};
  if (body instanceof Uint8Array) return { body: body as Uint8Array<ArrayBuffer> };
  const stream = readThrough(body, async (next) => {
    try {
      // The caller may take any time to produce the next chunk. So limit only the time until the relay
      // accepts the chunk or answers.
      limit.stop();
      const chunk = await next();
      limit.start();
      return chunk;
    } catch (error) {
      const unknown = () =>
        new RelayError(
          'aborted',
          { what: 'the stream to push ended with an error', hint: 'Nothing was stored. Try again.' },
          error,
        );
      broken(isRelayError(error) ? error : unknown());
      throw error;
    }
  });
  return { body: stream, duplex: 'half' };
}

/** Returns whether a retry of the request may succeed. */
export function isTransient(error: unknown): error is RelayError {
  return isRelayError(error) && [408, 429, 503].includes(error.status) && error.details.final !== true;
}

function abortError(doing: string, signal: AbortSignal): RelayError {
  const error = new RelayError('aborted', { what: doing }, signal.reason);
  error.name = 'AbortError';
  return error;
}

function redirectError(base: string, location: string | null): RelayError {
  const to = location && URL.canParse(location, base) ? ` to ${new URL(location, base).origin}` : '';
  return new RelayError('bad_request', {
    what: `${base} redirects${to}. The redirect was not followed, because it could send the key or the payload to another host.`,
    hint: 'If you trust the new address, use it as the base URL.',
  });
}

/** Checks that the API key fits into a header. Trims it, because a key from a file often ends with a line break. */
function checkApiKey(key: string | undefined): string | undefined {
  const trimmed = key?.trim();
  if (!trimmed) return undefined;
  if (/^[\x21-\x7e]+$/.test(trimmed)) return trimmed;
  throw new RelayError('bad_request', {
    what: 'The API key contains characters that are not allowed in a key.',
    hint: 'A key looks like cr_live_…; check CONTEXTRELAY_API_KEY.',
  });
}

function checkBaseUrl(text: string): string {
  const refuse = (what: string) =>
    new RelayError('bad_request', { what, hint: 'A base URL looks like https://relay.example.com.' });
  if (!URL.canParse(text)) throw refuse('The base URL is not a URL.');
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw refuse('The base URL must start with http:// or https://.');
  }
  if (url.username || url.password) throw refuse('The base URL must not contain a user name or password.');
  return (url.origin + url.pathname).replace(/\/+$/, '');
}

/**
 * Converts an error response to a RelayError. If the response does not come from a relay, the HTTP status decides the
 * error code.
 */
export function failureOf(status: number, headers: Headers, body: string, base: string): RelayError {
  const answer = jsonObjectIn(body) ?? {};
  const seconds = retryAfter(headers);
  const details: Record<string, unknown> = seconds === null ? {} : { retry_after: seconds };
  const other = status >= 500 ? 'internal' : 'bad_request';
  const code = isErrorCode(answer.code) ? answer.code : (BY_STATUS[status] ?? other);
  if (typeof answer.hint === 'string') details.hint = cleanText(answer.hint);
  const error = new RelayError(code, { ...details, what: base });
  error.message =
    typeof answer.error === 'string'
      ? cleanText(answer.error)
      : `${base} answered with HTTP status ${status}.`;
  return error;
}

/**
 * Returns the error for a server that answers but is not a relay. The error is final, because a retry would
 * not help.
 */
export function notARelay(base: string, what: string): RelayError {
  const error = new RelayError('unreachable', {
    what: base,
    final: true,
    hint: 'Check the address: CONTEXTRELAY_URL, or the host in the pointer.',
  });
  error.message = `The server at ${base} is not a relay: ${what}.`;
  return error;
}

/** Explanations of the TLS error codes of Node. */
const CERTIFICATE_FAULTS: { readonly [code: string]: string } = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'it is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'it is signed by an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT: 'it is signed by an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'it is signed by an unknown authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'it is signed by an unknown authority',
  CERT_HAS_EXPIRED: 'it has expired',
  CERT_NOT_YET_VALID: 'it is not valid yet',
  ERR_TLS_CERT_ALTNAME_INVALID: 'it is for another host',
};

/** Returns an error if the connection failed because of the server's TLS certificate, otherwise null. */
export function certificateError(error: unknown, base: string): RelayError | null {
  // Node's fetch puts the code into the cause, Bun's fetch into the error itself.
  const { code } = ((error as Error | null)?.cause ?? error ?? {}) as { code?: unknown };
  const why = typeof code === 'string' ? CERTIFICATE_FAULTS[code] : undefined;
  if (why === undefined) return null;
  const other = /signed/.test(why)
    ? {}
    : { hint: 'Renew the certificate, or use the host name that it was issued for.' };
  return new RelayError('untrusted_certificate', { what: base, why, ...other }, error);
}

/** Returns whether a subscription should reconnect after this error. */
export function canReconnect(error: unknown): error is RelayError {
  return isRelayError(error) && RECONNECTABLE.includes(error.code);
}

const RECONNECTABLE: readonly ErrorCode[] = ['unreachable', 'busy', 'timeout', 'rate_limited', 'internal'];

const BY_STATUS: Record<number, ErrorCode> = {
  401: 'unauthorized',
  402: 'over_quota',
  403: 'forbidden',
  404: 'not_found',
  405: 'method_not_allowed',
  408: 'timeout',
  409: 'conflict',
  413: 'too_large',
  416: 'range_not_satisfiable',
  425: 'busy',
  429: 'rate_limited',
  431: 'too_large',
  502: 'unreachable',
  503: 'busy',
  504: 'unreachable',
  507: 'store_full',
};

/** Returns the value of the Retry-After header in seconds, or null. The header contains seconds or a date. */
function retryAfter(headers: Headers): number | null {
  const value = headers.get('retry-after');
  if (value === null) return null;
  if (/^\d+$/.test(value)) return Number(value);
  const at = Date.parse(value);
  const now = Date.parse(headers.get('date') ?? '');
  return Number.isNaN(at) || Number.isNaN(now) ? null : Math.max(0, (at - now) / 1000);
}

/**
 * Removes control characters and shortens the text. It may come from an untrusted server and be printed in a
 * terminal.
 */
function cleanText(text: string): string {
  const clean = text.replace(/\p{Cc}+/gu, ' ');
  return clean.length > 500 ? `${clean.slice(0, 500)}…` : clean;
}

/**
 * Returns the result of the promise. If the signal aborts first, rejects immediately. HTTP requests with this signal
 * are stopped. Any other work goes on, but its result is ignored.
 */
export async function abortable<T>(
  promise: Promise<T>,
  signal: AbortSignal | undefined,
  doing: string,
): Promise<T> {
  if (!signal) return promise;
  const ended = deferred<never>();
  const stop = () => ended.reject(abortError(doing, signal));
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop);
  try {
    return await Promise.race([promise, ended.promise]);
  } finally {
    signal.removeEventListener('abort', stop);
    // The promise may reject later. Handle this, otherwise the runtime reports an unhandled rejection.
    promise.catch(() => {});
  }
}
