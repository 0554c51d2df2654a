import { readThrough } from '../base/byte-streams.ts';
import { type ErrorCode, isErrorCode, isRelayError, RelayError } from '../base/errors.ts';
import { jsonObjectIn } from '../base/json.ts';
import { deferred, pause } from '../base/pause.ts';
import type { HttpMethod } from '../contract/verb.ts';
import type { ContextRelayOptions } from './options.ts';
import { collect, letGo } from './payload.ts';

export interface HttpOptions
  extends Pick<ContextRelayOptions, 'apiKey' | 'fetch' | 'timeout' | 'retries' | 'onConnection'> {
  /** `https://host`, with any path in front of `/push` and `/pull`. */
  readonly baseUrl: string;
  /** Stops whatever is under way. */
  readonly signal?: AbortSignal;
  /** For tests: how to wait. */
  readonly sleep?: (ms: number, signal?: AbortSignal) => Promise<void>;
}

export interface HttpCall {
  readonly method: HttpMethod;
  readonly path: string;
  readonly query?: URLSearchParams;
  readonly headers?: Record<string, string>;
  readonly body?: Uint8Array | ReadableStream<Uint8Array>;
  /** May be sent again after a failure. A body that is a stream never is. */
  readonly repeatable: boolean;
  /** For the message when it is stopped. */
  readonly doing: string;
  readonly onAttempt?: () => void;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Fails with a RelayError when the connection breaks, stalls or is stopped. */
  readonly body: ReadableStream<Uint8Array> | null;
}

const DEFAULT_TIMEOUT_MS = 60_000;
const DEFAULT_RETRIES = 3;
/** A slow line still moves this much; an upload is given the time for it on top. */
const SLOWEST_UPLOAD_BYTES_PER_MS = 128;
/** Told to wait longer, it is better to say so at once. */
const LONGEST_WAIT_MS = 30_000;
const FIRST_WAIT_MS = 200;
const ERROR_BODY_BYTES = 64 * 1024;

/** Requests to one base URL: with its key, its time limits, and a second try for what can be repeated. */
export class HttpClient {
  readonly base: string;
  /** Something answered there at least once. */
  answered = false;
  readonly #options: HttpOptions;
  readonly #fetch: typeof fetch;

  constructor(options: HttpOptions) {
    this.base = checkedBase(options.baseUrl);
    this.#options = { ...options, apiKey: checkedKey(options.apiKey) };
    // A browser's fetch refuses to be called as a method of something else.
    this.#fetch = options.fetch ?? ((...request) => fetch(...request));
  }

  /** `read` is part of each try: an answer that breaks off while it is read is asked for again. */
  async run<T>(call: HttpCall, read: (answer: HttpAnswer) => Promise<T>): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      try {
        call.onAttempt?.();
        return await read(await this.#send(call));
      } catch (error) {
        await this.pause(call, error, attempt);
      }
    }
  }

  /** Waits before the next try, or throws where there is none. */
  async pause(call: Pick<HttpCall, 'repeatable' | 'doing'>, error: unknown, attempt: number): Promise<void> {
    const { retries = DEFAULT_RETRIES, sleep = pause, signal } = this.#options;
    if (!call.repeatable || attempt >= retries || !isTransient(error)) throw error;
    const told = Number(error.details.retry_after ?? 0) * 1000;
    if (told > LONGEST_WAIT_MS) throw error;
    const wait = Math.max(told, FIRST_WAIT_MS * 2 ** attempt * (0.5 + Math.random()));
    await sleep(wait, signal);
    if (signal?.aborted) throw stopped(call.doing, signal);
  }

  async #send(call: HttpCall): Promise<HttpAnswer> {
    const { apiKey, signal } = this.#options;
    if (signal?.aborted) throw stopped(call.doing, signal);
    const limit = timeLimit(this.#options.timeout ?? DEFAULT_TIMEOUT_MS, signal);
    let broken: RelayError | null = null;
    const query = call.query?.size ? `?${call.query}` : '';
    const headers = { ...call.headers, ...(apiKey ? { Authorization: `Bearer ${apiKey}` } : {}) };
    try {
      const size = call.body instanceof Uint8Array ? call.body.byteLength : 0;
      limit.start(size / SLOWEST_UPLOAD_BYTES_PER_MS);
      const response = await this.#fetch(`${this.base}${call.path}${query}`, {
        method: call.method,
        headers,
        // A redirect could lead the key to another host, and a body into the void.
        redirect: apiKey || call.method !== 'GET' ? 'manual' : 'follow',
        signal: limit.signal,
        ...bodyOf(call, (reason) => {
          broken = reason;
        }),
      });
      limit.stop();
      this.answered = true;
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
      await letGo(body);
      return redirected(this.base, response.headers.get('location'));
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
    if (signal?.aborted) return stopped(doing, signal);
    if (limit.isPassed())
      return new RelayError('timeout', { what: `no answer from ${this.base} within ${limit.ms / 1000} s` });
    return untrusted(error, this.base) ?? new RelayError('unreachable', { what: this.base }, error);
  }
}

/** Ends one try when nothing moves for too long, or when the caller's own signal says so. */
function timeLimit(ms: number, signal: AbortSignal | undefined) {
  const late = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  return {
    ms,
    isPassed: () => late.signal.aborted,
    signal: signal ? AbortSignal.any([signal, late.signal]) : late.signal,
    start(extra = 0): void {
      if (Number.isFinite(ms)) timer = setTimeout(() => late.abort(), ms + extra);
    },
    stop: () => clearTimeout(timer),
  };
}

type TimeLimit = ReturnType<typeof timeLimit>;

/** The body of a request. Where a stream breaks off, `broken` is told why: fetch would only say that it did. */
function bodyOf({ body }: HttpCall, broken: (reason: RelayError) => void): RequestInit & { duplex?: 'half' } {
  if (body === undefined) return {};
  if (body instanceof Uint8Array) return { body: body as Uint8Array<ArrayBuffer> };
  const stream = readThrough(body, async (next) => {
    try {
      return await next();
    } catch (error) {
      const unknown = () => new RelayError('aborted', { what: 'the stream to push broke off' }, error);
      broken(isRelayError(error) ? error : unknown());
      throw error;
    }
  });
  return { body: stream, duplex: 'half' };
}

/** Whether asking again in a moment may help. */
export function isTransient(error: unknown): error is RelayError {
  return isRelayError(error) && [408, 429, 503].includes(error.status) && error.details.final !== true;
}

function stopped(doing: string, signal: AbortSignal): RelayError {
  return new RelayError('aborted', { what: doing }, signal.reason);
}

function redirected(base: string, location: string | null): RelayError {
  const to = location && URL.canParse(location, base) ? ` to ${new URL(location, base).origin}` : '';
  return new RelayError('bad_request', {
    what: `${base} redirects${to}, which was not followed: the key and the payload go to no other place.`,
    hint: 'Use the address it redirects to as the base URL, if it is yours.',
  });
}

/** A header takes no other characters; a key from a file often has a line end behind it. */
function checkedKey(key: string | undefined): string | undefined {
  const trimmed = key?.trim();
  if (!trimmed) return undefined;
  if (/^[\x21-\x7e]+$/.test(trimmed)) return trimmed;
  throw new RelayError('bad_request', {
    what: 'The API key has characters in it that no key has.',
    hint: 'It looks like cr_live_…; check CONTEXTRELAY_API_KEY.',
  });
}

function checkedBase(text: string): string {
  const refuse = (what: string) =>
    new RelayError('bad_request', { what, hint: 'It looks like https://relay.example.com.' });
  if (!URL.canParse(text)) throw refuse('The base URL is not a URL.');
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw refuse('The base URL does not begin with http:// or https://.');
  }
  if (url.username || url.password) throw refuse('The base URL has a user name or password in it.');
  return (url.origin + url.pathname).replace(/\/+$/, '');
}

/** What a relay answered, as the error it threw there; what something else answered, as near to that as its status tells. */
export function failureOf(status: number, headers: Headers, body: string, base: string): RelayError {
  const told = jsonObjectIn(body) ?? {};
  const seconds = retryAfter(headers);
  const details: Record<string, unknown> = seconds === null ? {} : { retry_after: seconds };
  const other = status >= 500 ? 'internal' : 'bad_request';
  const code = isErrorCode(told.code) ? told.code : (BY_STATUS[status] ?? other);
  if (typeof told.hint === 'string') details.hint = plain(told.hint);
  const error = new RelayError(code, { ...details, what: base });
  error.message =
    typeof told.error === 'string' ? plain(told.error) : `${base} answered with HTTP status ${status}.`;
  return error;
}

/** It answers, but not as a relay would; asking again will not change that. */
export function notARelay(base: string, what: string): RelayError {
  const error = new RelayError('unreachable', {
    what: base,
    final: true,
    hint: 'Check the address: CONTEXTRELAY_URL, or the host in the pointer.',
  });
  error.message = `What answers at ${base} is not a relay: ${what}.`;
  return error;
}

/** What Node says of a certificate, in words; asking again will not change it. */
const CERTIFICATE_FAULTS: { readonly [code: string]: string } = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'it is signed by itself',
  SELF_SIGNED_CERT_IN_CHAIN: 'it is signed by an authority that this machine does not know',
  UNABLE_TO_GET_ISSUER_CERT: 'it is signed by an authority that this machine does not know',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'it is signed by an authority that this machine does not know',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'it is signed by an authority that this machine does not know',
  CERT_HAS_EXPIRED: 'it has expired',
  CERT_NOT_YET_VALID: 'it is not valid yet',
  ERR_TLS_CERT_ALTNAME_INVALID: 'it is for another host',
};

/** The error where a connection failed over the certificate at the other end; else null. */
export function untrusted(error: unknown, base: string): RelayError | null {
  // Node's fetch has the code in the cause, Bun's in the error itself.
  const { code } = ((error as Error | null)?.cause ?? error ?? {}) as { code?: unknown };
  const why = typeof code === 'string' ? CERTIFICATE_FAULTS[code] : undefined;
  if (why === undefined) return null;
  const other = why.startsWith('it is signed')
    ? {}
    : { hint: 'Have it renewed, or use the name that it is for.' };
  return new RelayError('untrusted_certificate', { what: base, why, ...other }, error);
}

/** Whether it may be better in a moment. */
export function isPassing(error: unknown): error is RelayError {
  return isRelayError(error) && PASSING.includes(error.code);
}

const PASSING: readonly ErrorCode[] = ['unreachable', 'busy', 'timeout', 'rate_limited', 'internal'];

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

/** Seconds, from either form of the header. */
function retryAfter(headers: Headers): number | null {
  const value = headers.get('retry-after');
  if (value === null) return null;
  if (/^\d+$/.test(value)) return Number(value);
  const at = Date.parse(value);
  const now = Date.parse(headers.get('date') ?? '');
  return Number.isNaN(at) || Number.isNaN(now) ? null : Math.max(0, (at - now) / 1000);
}

/** It may be shown in a terminal, and whoever wrote it may be a stranger. */
function plain(text: string): string {
  const clean = text.replace(/\p{Cc}+/gu, ' ');
  return clean.length > 500 ? `${clean.slice(0, 500)}…` : clean;
}

/** Gives up on the promise when the signal says so. What runs over HTTP stops with it; what does not goes on unseen. */
export async function abortable<T>(
  promise: Promise<T>,
  signal: AbortSignal | undefined,
  doing: string,
): Promise<T> {
  if (!signal) return promise;
  const ended = deferred<never>();
  const stop = () => ended.reject(stopped(doing, signal));
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop);
  try {
    return await Promise.race([promise, ended.promise]);
  } finally {
    signal.removeEventListener('abort', stop);
    // Whichever lost has nobody to hear it.
    promise.catch(() => {});
  }
}
