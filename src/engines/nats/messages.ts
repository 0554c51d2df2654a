import { hash } from 'node:crypto';
import type { Json } from '../../base/json.ts';
import type { ExportedEntry } from '../../kernel/moving.ts';
import type { Stored as Message } from './connection.ts';

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

/** Subject filter for a listing. It matches all keys with the prefix, and may match others. */
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

/** What an entry's message says beside its time and its data, where there is something to say. */
interface Extra {
  /** The sequence that it has kept from another store; otherwise it is that of the message. */
  readonly seq?: number;
  readonly id?: string;
  /** The name of the log, where the subject does not tell it. */
  readonly stream?: string;
}

/** One line with the time and whatever else is to be told, then the JSON. */
export function encodeEntry(
  stream: string,
  at: number,
  json: string,
  o: { seq?: number; id?: string },
): Uint8Array {
  const named = tokenOf(stream).startsWith('~') ? stream : undefined;
  const extra: Extra = { ...o, stream: named };
  const told = Object.values(extra).some((value) => value !== undefined);
  return Buffer.from(`${at}${told ? ` ${JSON.stringify(extra)}` : ''}\n${json}`);
}

export function entryOf(message: Message): ExportedEntry {
  const text = Buffer.from(message.data).toString();
  const end = text.indexOf('\n');
  const { at, seq = message.seq, id } = headOf(text.slice(0, end));
  const data = JSON.parse(text.slice(end + 1)) as Json;
  return id === undefined ? { seq, at, data } : { seq, at, data, id };
}

/** The sequence that an entry goes by, without reading its data. */
export function seqOf({ data, seq }: Message): number {
  return headOf(Buffer.from(data.subarray(0, data.indexOf(0x0a))).toString()).seq ?? seq;
}

/** The name that the message tells; null where its subject does. */
export function streamOf({ data }: Message): string | null {
  return headOf(Buffer.from(data.subarray(0, data.indexOf(0x0a))).toString()).stream ?? null;
}

function headOf(line: string): Extra & { at: number } {
  const space = line.indexOf(' ');
  if (space < 0) return { at: Number(line) };
  return { at: Number(line.slice(0, space)), ...(JSON.parse(line.slice(space + 1)) as Extra) };
}
