import type { Json } from '../../base/json.ts';
import type { KeptEntry } from '../../kernel/moving.ts';
import type { Stored as Message } from './connection.ts';
import { tokenOf } from './names.ts';

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

export function entryOf(message: Message): KeptEntry {
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
