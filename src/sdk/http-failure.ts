import { type ErrorCode, isErrorCode, isRelayError, RelayError } from '../base/errors.ts';
import { jsonObjectIn } from '../base/json.ts';

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
