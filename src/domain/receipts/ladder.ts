import { isJsonObject, type Json } from '../../base/json.ts';
import { pointerUrl } from '../../contract/pointer-url.ts';
import { type Receipt, type ReceiptLadder, RUNGS, type Rung } from '../../contract/pointers.ts';
import type { PointerRecord } from '../pointers/record.ts';
import { fromJson } from '../records.ts';

/** What was seen of one reader on one rung within a short time. An entry of a pointer's receipts is a list of these. */
export interface Note extends Pick<Receipt, 'by' | 'group' | 'reason' | 'attempts' | 'status' | 'summary'> {
  readonly rung: Exclude<Rung, 'stored'>;
  readonly first: number;
  last: number;
  count: number;
  bytes: number;
  retries?: number;
  /** The result's; `status` and `summary` are what it says of itself. */
  readonly pointer?: string;
}

/** Adds up the entries of a pointer's receipts: lowest rung first, then in the order of time. */
export function ladderOf(
  id: string,
  { from, created, size }: PointerRecord,
  entries: readonly Json[],
  base: string,
): ReceiptLadder {
  const notes = new Map<string, Note>();
  for (const data of entries) {
    if (!isJsonObject(data) || !Array.isArray(data.notes)) continue;
    for (const note of fromJson<Note[]>(data.notes)) {
      const key = JSON.stringify([note.rung, note.by, note.group, note.pointer]);
      const known = notes.get(key);
      if (!known) notes.set(key, { ...note });
      else {
        known.last = Math.max(known.last, note.last);
        known.count += note.count;
        known.bytes += note.bytes;
        if (note.retries) known.retries = (known.retries ?? 0) + note.retries;
      }
    }
  }
  const stored: Receipt = { rung: 'stored', by: from, at: iso(created), bytes: size };
  const sorted = [...notes.values()].sort(
    (a, b) => RUNGS.indexOf(a.rung) - RUNGS.indexOf(b.rung) || a.first - b.first,
  );
  const receipts = [stored, ...sorted.map((note) => toReceipt(note, base))];
  return { id, reached: receipts.at(-1)!.rung, receipts };
}

/** What a receipt says besides who and when, by its rung. */
const SAID = {
  notified: ['last_at', 'count'],
  pulled: ['last_at', 'count', 'retries', 'bytes'],
  acked: ['group'],
  dead: ['group', 'reason', 'attempts'],
  result: ['url', 'status', 'summary'],
} as const;

function toReceipt(note: Note, base: string): Receipt {
  const { rung, by, first, last, count, pointer } = note;
  const known = {
    ...note,
    last_at: count > 1 ? iso(last) : undefined,
    url: pointer === undefined ? undefined : pointerUrl(base, pointer),
  };
  const said = SAID[rung].filter((name) => known[name] !== undefined).map((name) => [name, known[name]]);
  return { rung, by, at: iso(first), ...Object.fromEntries(said) };
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
