import { isJsonObject, type Json } from '../../base/json.ts';
import { pointerUrl } from '../../contract/pointer-url.ts';
import { type Receipt, type ReceiptLadder, RUNGS, type Rung } from '../../contract/receipts.ts';
import type { PointerRecord } from '../pointers/record.ts';
import { asJson, fromJson } from '../records.ts';

/** What was seen of one reader on one rung within a short time. An entry of a pointer's receipts is a list of these. */
export interface Note {
  readonly rung: Exclude<Rung, 'stored'>;
  readonly by: string;
  readonly group?: string;
  readonly first: number;
  last: number;
  count: number;
  bytes: number;
  /** The result's pointer, and what it says of itself. */
  readonly pointer?: string;
  readonly status?: string;
  readonly summary?: string;
}

export function toEntry(notes: readonly Note[]): Json {
  return asJson({ notes });
}

/** Adds up what the log of receipts holds, entry by entry. */
export class Ladder {
  readonly #id: string;
  readonly #record: PointerRecord;
  readonly #notes = new Map<string, Note>();

  constructor(id: string, record: PointerRecord) {
    this.#id = id;
    this.#record = record;
  }

  add(data: Json): void {
    if (!isJsonObject(data) || !Array.isArray(data.notes)) return;
    for (const note of fromJson<Note[]>(data.notes)) {
      const key = JSON.stringify([note.rung, note.by, note.group, note.pointer]);
      const known = this.#notes.get(key);
      if (!known) this.#notes.set(key, { ...note });
      else {
        known.last = Math.max(known.last, note.last);
        known.count += note.count;
        known.bytes += note.bytes;
      }
    }
  }

  /** Lowest rung first, then in the order of time. */
  result(base: string): ReceiptLadder {
    const { from, created, size } = this.#record;
    const stored: Receipt = { rung: 'stored', by: from, at: iso(created), bytes: size };
    const notes = [...this.#notes.values()].sort(
      (a, b) => RUNGS.indexOf(a.rung) - RUNGS.indexOf(b.rung) || a.first - b.first,
    );
    const receipts = [stored, ...notes.map((note) => toReceipt(note, base))];
    return { id: this.#id, reached: receipts.at(-1)!.rung, receipts };
  }
}

function toReceipt(note: Note, base: string): Receipt {
  const { rung, by, group, first, last, count, bytes, pointer, status, summary } = note;
  const several = count > 1 ? { last_at: iso(last) } : {};
  switch (rung) {
    case 'notified':
      return { rung, by, at: iso(first), ...several, count };
    case 'pulled':
      return { rung, by, at: iso(first), ...several, count, bytes };
    case 'acked':
      return { rung, by, at: iso(first), ...(group === undefined ? {} : { group }) };
    case 'result':
      return {
        rung,
        by,
        at: iso(first),
        ...(pointer === undefined ? {} : { url: pointerUrl(base, pointer) }),
        ...(status === undefined ? {} : { status }),
        ...(summary === undefined ? {} : { summary }),
      };
  }
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
