import { CREDENTIAL_FORMATS, URL_PASSWORD } from './credential-formats.ts';

export const REDACTED = '[redacted]';

/**
 * For whatever is logged: takes out credentials, the keys in pointers and the values of Authorization. Unlike the warning before
 * a push it would rather take out too much.
 */
export function redact(text: string): string {
  let clean = text
    .replace(FRAGMENT_KEY, `$1${REDACTED}`)
    .replace(AUTHORIZATION, `$1${REDACTED}`)
    .replace(BEARER, `$1${REDACTED}`)
    .replace(NAMED_VALUE, `$1${REDACTED}`)
    .replace(URL_PASSWORD, `$1:${REDACTED}@`);
  for (const [, pattern] of CREDENTIAL_FORMATS) clean = clean.replace(pattern, REDACTED);
  return clean;
}

const FRAGMENT_KEY = /(#key=)(?!\[redacted\])[^\s"'<>&)\]]+/g;
const AUTHORIZATION = /(\bauthorization["']?\s{0,4}[:=]\s{0,4}["']?)(?!\s{0,4}\[redacted\])[^\r\n"',}]+/gi;
const BEARER = /(\b(?:bearer|basic) )(?!\[redacted\])[\w+/=.~-]{8,}/gi;
/** `?ticket=…`, `password: …`, `"sealed_key":"…"`, `x-api-key: …`. */
const NAMED_VALUE =
  /((?:password|passwd|passphrase|secret|api[_-]?key|sealed[_-]key|access[_-]token|refresh[_-]token|id[_-]token|private[_-]key|ticket|cookie)["']?\s{0,4}[:=]\s{0,4}["']?)(?!\[redacted\])[^\s"'&,;}]+/gi;
