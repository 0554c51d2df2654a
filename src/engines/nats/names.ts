import { hash } from 'node:crypto';

/**
 * How keys and names become subjects. A subject is made of tokens; one takes letters, digits, `-` and `_` as they are, and all
 * else escaped. A segment that would get too long is hashed, and then the message names its key.
 */

/** Segments of a key that are tokens of their own, so that a listing can ask for one folder; the rest shares one. */
const SEGMENTS = 4;

/** NATS takes 4 KiB for a subject with all that goes with it on one line. */
const TOKEN_CHARS = 150;

const HASHED = '~';
/** A segment may be empty, a token may not. */
const EMPTY = '%';

export function tokenOf(text: string): string {
  if (text === '') return EMPTY;
  const escaped = encodeURIComponent(text).replace(/[!'()*.~]/g, (c) => `%${c.charCodeAt(0).toString(16)}`);
  return escaped.length <= TOKEN_CHARS ? escaped : HASHED + hash('sha256', text, 'base64url');
}

/** The tokens of a key, joined. */
export function subjectOf(key: string): string {
  return segments(key).map(tokenOf).join('.');
}

/** The subjects of all keys with the prefix, and maybe more: what a listing asks the server for. */
export function filterOf(prefix: string): string {
  const parts = segments(prefix).slice(0, -1);
  return [...parts.map(tokenOf), '>'].join('.');
}

/** The key of a subject; null where it was hashed. */
export function keyOf(subject: string): string | null {
  const tokens = subject.split('.');
  if (tokens.some((token) => token.startsWith(HASHED))) return null;
  return tokens.map((token) => (token === EMPTY ? '' : decodeURIComponent(token))).join('/');
}

function segments(key: string): string[] {
  const parts = key.split('/');
  return parts.length <= SEGMENTS
    ? parts
    : [...parts.slice(0, SEGMENTS - 1), parts.slice(SEGMENTS - 1).join('/')];
}
