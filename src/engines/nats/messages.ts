import { hash } from 'node:crypto';
import type { Json } from '../../base/json.ts';
import type { ExportedEntry } from '../../kernel/moving.ts';
import type { Message } from './connection.ts';

/**
 * Converts keys and log names to NATS subjects and back. A subject consists of tokens separated by dots. In a token,
 * letters, digits, `-` and `_` stay, and other characters are escaped. A segment that is too long is replaced by its
 * hash; the message then contains the key.
 */

/**
 * Maximum number of tokens per key. Each of the first segments is one token, so that a listing can filter by folder.
 */
const SEGMENTS = 4;

/** Maximum length of a token in characters. NATS limits the protocol line with the subject to 4 KiB. */
const TOKEN_CHARS = 150;

const HASHED = '~';
/** Token for an empty segment, because NATS allows no empty tokens. */
const EMPTY = '%';

/** Encodes a text as one token. */
export function tokenOf(text: string): string {
  if (text === '') return EMPTY;
  const escaped = encodeURIComponent(text).replace(/[!'()*.~]/g, (c) => `%${c.charCodeAt(0).toString(16)}`);
  return escaped.length <= TOKEN_CHARS ? escaped : HASHED + hash('sha256', text, 'base64url');
}

/** Encodes a key as the last part of a subject. */
export function subjectOf(key: string): string {
  return segments(key).map(tokenOf).join('.');
}

/** Returns the subject filter for a listing. It matches all keys with the prefix, and may match other keys too. */
export function filterOf(prefix: string): string {
  const parts = segments(prefix).slice(0, -1);
  return [...parts.map(tokenOf), '>'].join('.');
}

/** Decodes the key in a subject. Returns null if the subject contains a hash. */
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

/** Optional fields in the first line of an entry's message. */
interface Extra {
  /** Sequence of an imported entry. The sequence of any other entry is the sequence of its message. */
  readonly seq?: number;
  readonly id?: string;
  /** Name of the log. Present only if the subject contains a hash instead of the name. */
  readonly stream?: string;
}

/** Encodes an entry: one line with the time and optional fields, then the JSON. */
export function encodeEntry(
  stream: string,
  at: number,
  json: string,
  o: { seq?: number; id?: string },
): Uint8Array {
  const named = tokenOf(stream).startsWith('~') ? stream : undefined;
  const extra: Extra = { ...o, stream: named };
  const hasExtra = Object.values(extra).some((value) => value !== undefined);
  return Buffer.from(`${at}${hasExtra ? ` ${JSON.stringify(extra)}` : ''}\n${json}`);
}

/** Decodes the message of an entry. */
export function entryOf(message: Message): ExportedEntry {
  const text = Buffer.from(message.data).toString();
  const end = text.indexOf('\n');
  const { at, seq = message.seq, id } = headOf(text.slice(0, end));
  const data = JSON.parse(text.slice(end + 1)) as Json;
  return id === undefined ? { seq, at, data } : { seq, at, data, id };
}

/** Returns the sequence of an entry without parsing its data. */
export function seqOf({ data, seq }: Message): number {
  return headOf(Buffer.from(data.subarray(0, data.indexOf(0x0a))).toString()).seq ?? seq;
}

/** Returns the log name that the message contains, or null if the subject encodes the name. */
export function streamOf({ data }: Message): string | null {
  return headOf(Buffer.from(data.subarray(0, data.indexOf(0x0a))).toString()).stream ?? null;
}

function headOf(line: string): Extra & { at: number } {
  const space = line.indexOf(' ');
  if (space < 0) return { at: Number(line) };
  return { at: Number(line.slice(0, space)), ...(JSON.parse(line.slice(space + 1)) as Extra) };
}
