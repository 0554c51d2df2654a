import { ERRORS, type ErrorRow } from './error-rows.ts';
import { exactBytes } from './format.ts';

export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  refused: 4,
  unreachable: 5,
  incomplete: 6,
} as const;

/**
 * Exit code of `relay hook claude wait` if there are messages. The command in the client's settings converts this code
 * to 2, which wakes the session. The relay does not exit with 2 directly: another program called `relay` may exit with
 * 2 for a usage error, and that must not wake the session after every turn.
 */
export const EXIT_REWAKE = 42;

export { ERRORS };

export type ErrorCode = keyof typeof ERRORS;

type ErrorDetails = { [name: string]: unknown };

/** The error class of the relay. Any other error is a bug, and the interfaces report it as `internal`. */
export class RelayError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  /** Accepts an error of any copy of this class, because the published package contains several copies. */
  static override [Symbol.hasInstance](error: unknown): boolean {
    return isRelayError(error);
  }

  /** `details.message` and `details.hint` override the texts of the error table. */
  constructor(code: ErrorCode, details: ErrorDetails = {}, cause?: unknown) {
    const { message } = details;
    const text = typeof message === 'string' ? message : fill(ERRORS[code].message, details);
    super(text, cause === undefined ? undefined : { cause });
    this.name = 'RelayError';
    this.code = code;
    this.details = details;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }

  get exit(): number {
    const row: ErrorRow = ERRORS[this.code];
    return row.exit ?? exitOf(row.status);
  }

  /** Says what to do next. */
  get hint(): string {
    const ownHint = this.details.hint;
    return typeof ownHint === 'string' ? ownHint : fill(ERRORS[this.code].hint, this.details);
  }

  /**
   * Returns the hint for the CLI or for MCP, if the error table has one. Otherwise returns the general hint.
   */
  hintFor(reader: 'cli' | 'mcp'): string {
    const row: ErrorRow = ERRORS[this.code];
    const ownHint = this.details.hint;
    // A remote relay sends its hint for HTTP clients in `details.hint`. Replace it by our hint for the CLI or MCP, but
    // keep any other hint.
    const isOwn = typeof ownHint === 'string' && !ownHint.startsWith(row.hint.split('{')[0]!);
    return isOwn ? ownHint : (row[reader] ?? this.hint);
  }

  /** Returns the JSON form of the error, which every interface sends. */
  toJSON(): { error: string; code: ErrorCode; hint: string } {
    return { error: this.message, code: this.code, hint: this.hint };
  }
}

/** Creates a `bad_request` error. `what` is the message, a full sentence. */
export function badRequest(what: string, hint?: string): RelayError {
  return new RelayError('bad_request', { what, hint });
}

/** Creates a `too_large` error. `what` is the thing that is too large. `limit` is in bytes. */
export function tooLarge(what: string, limit: number, hint?: string): RelayError {
  return new RelayError('too_large', { what, limit, hint });
}

/** Creates the error for a payload that arrived so slowly that a sweep deleted its temporary data. */
export function uploadTooSlow(): RelayError {
  return new RelayError('busy', {
    message: 'The payload arrived too slowly and was not stored.',
    hint: 'Send it again over a faster connection, or in several parts.',
  });
}

/**
 * Returns whether an error is a RelayError, optionally with this code. Compares the name and the code instead of the
 * class, because the published program contains several copies of the class. When a call of the SDK is aborted, the
 * RelayError has the name `AbortError`, as `fetch` and frameworks expect.
 */
export function isRelayError(error: unknown, code?: ErrorCode): error is RelayError {
  if (!(error instanceof Error) || (error.name !== 'RelayError' && error.name !== 'AbortError')) return false;
  const found = (error as RelayError).code;
  return isErrorCode(found) && (code === undefined || found === code);
}

/** Returns a handler for `catch`. It returns null for an error with one of these codes, and throws any other error. */
export function ignore(...codes: readonly ErrorCode[]): (error: unknown) => null {
  return (error) => {
    if (isRelayError(error) && codes.includes(error.code)) return null;
    throw error;
  };
}

/**
 * Errors whose detail `seconds` says after how many seconds a client may retry. In other errors, `seconds` means
 * something else.
 */
const NAMES_RETRY_SECONDS: ReadonlySet<ErrorCode> = new Set(['rate_limited', 'overloaded', 'store_moving']);
/** Seconds after which a client may retry a 503 error that states no time. */
const RETRY_SECONDS = 1;

/** Returns the value of the Retry-After header for an error. Returns null if the error has no such header. */
export function retrySeconds({ code, status, details }: RelayError): number | null {
  if (NAMES_RETRY_SECONDS.has(code)) return Number(details.seconds);
  return status === 503 ? RETRY_SECONDS : null;
}

/**
 * Converts any error for an interface. Returns a `RelayError` unchanged. Any other error becomes `internal` without
 * details. It becomes `package_replaced` if a module is missing, or if `replaced` says that the package was replaced
 * while the program was running.
 */
export function toRelayError(error: unknown, replaced?: () => boolean, request = 'unknown'): RelayError {
  if (isRelayError(error)) return error;
  const code = String((error as { code?: unknown } | null)?.code);
  const missing = code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND';
  return new RelayError(missing || replaced?.() ? 'package_replaced' : 'internal', { request });
}

export function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(ERRORS, code);
}

function exitOf(status: number): number {
  if (status === 404) return EXIT.notFound;
  if ([400, 405, 416, 426].includes(status)) return EXIT.usage;
  if ([401, 402, 403, 413, 429].includes(status)) return EXIT.refused;
  return [408, 503].includes(status) ? EXIT.unreachable : EXIT.failed;
}

function fill(text: string, details: ErrorDetails): string {
  return text.replace(/\{(\w+)(:bytes)?\}/g, (_, name: string, amount?: string) => {
    const value = details[name] ?? `{${name}}`;
    return amount && typeof value === 'number' ? exactBytes(value) : String(value);
  });
}
