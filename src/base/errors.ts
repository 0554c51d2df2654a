import { ERRORS, type ErrorRow } from './error-rows.ts';
import { exactBytes } from './format.ts';

export const EXIT = { ok: 0, failed: 1, usage: 2, notFound: 3, refused: 4, unreachable: 5 } as const;

export { ERRORS };

export type ErrorCode = keyof typeof ERRORS;

type ErrorDetails = { [name: string]: unknown };

/** The only error that crosses a layer on purpose. Anything else is a bug and is shown as `internal`. */
export class RelayError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, details: ErrorDetails = {}, cause?: unknown) {
    super(fill(ERRORS[code].message, details), cause === undefined ? undefined : { cause });
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

  /** What to do next. A throw may say it better than the table by passing `hint`. */
  get hint(): string {
    const own = this.details.hint;
    return typeof own === 'string' ? own : fill(ERRORS[this.code].hint, this.details);
  }

  /** The same in the words of another interface than HTTP, where the table has them. */
  hintFor(reader: 'cli' | 'mcp'): string {
    const row: ErrorRow = ERRORS[this.code];
    const own = this.details.hint;
    // A relay on the network says it in the words of HTTP.
    const isOwn = typeof own === 'string' && !own.startsWith(row.hint.split('{')[0]!);
    return isOwn ? own : (row[reader] ?? this.hint);
  }

  /** The shape every interface answers with. */
  toJSON(): { error: string; code: ErrorCode; hint: string } {
    return { error: this.message, code: this.code, hint: this.hint };
  }
}

/** What a caller asked for is wrong; `what` says how, in a sentence. */
export function badRequest(what: string, hint?: string): RelayError {
  return new RelayError('bad_request', { what, hint });
}

export function tooLarge(what: string, limit: number, hint?: string): RelayError {
  return new RelayError('too_large', { what, limit, hint });
}

/** By name and code, not by class: the published program holds this file more than once. */
export function isRelayError(error: unknown, code?: ErrorCode): error is RelayError {
  if (!(error instanceof Error) || error.name !== 'RelayError') return false;
  const found = (error as RelayError).code;
  return isErrorCode(found) && (code === undefined || found === code);
}

/**
 * What an interface shows of an error: one of the table as it is, and of any other no more than that it happened, or that the
 * package was replaced under the running program: parts are loaded when they are first needed.
 */
export function shownError(error: unknown, replaced?: () => boolean, request = 'unknown'): RelayError {
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
