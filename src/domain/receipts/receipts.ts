import { isUuid } from '../../base/ids.ts';
import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts';
import { RECEIPT_DELAY_MS, RECEIPT_READERS, RECEIPTS_WAITING } from '../../base/limits.ts';
import { authorize } from '../../contract/authorize.ts';
import { type Caller, type CallerAt, doneBy } from '../../contract/caller.ts';
import type { DeadLetter } from '../../contract/channels.ts';
import { TOOL_READER } from '../../contract/outputs.ts';
import { handleOf, pointerUrl } from '../../contract/pointer-url.ts';
import { type Receipt, type ReceiptLadder, RUNGS, type Rung, receipts } from '../../contract/pointers.ts';
import { compareAndSet } from '../../kernel/records.ts';
import type { Deps } from '../deps.ts';
import { receiptsKey } from '../names.ts';
import type { PointerLookup, PointerRecord } from '../pointers/record.ts';
import { entriesBehind, fromJson, type RecordsOf, recordsOf } from '../records.ts';
import { WriteBehind } from '../write-behind.ts';
import { dropFormerReceipts, formerStream } from './former-receipts.ts';

type Reader = Pick<Caller, 'name' | 'agent'>;
type ReceiptDeps = Pick<Deps, 'engine' | 'env' | 'activity'>;

/** What one reader did with a pointer: one stage of the receipts, such as `pulled`. */
export interface Note
  extends Pick<Receipt, 'by' | 'by_agent' | 'group' | 'reason' | 'attempts' | 'status' | 'summary'> {
  readonly rung: Exclude<Rung, 'stored'>;
  readonly first: number;
  readonly last: number;
  readonly count: number;
  readonly bytes: number;
  readonly retries?: number;
  /** Id of the pointer with the result. `status` and `summary` describe the result. */
  readonly pointer?: string;
}

/**
 * A note that is not written yet. If it has a `tenant`, it is written only if this tenant owns the pointer.
 */
type NoteOf = Note & { readonly tenant?: string };

/**
 * Records who has received which pointer. No caller waits for a receipt: notes are collected in memory and
 * shortly afterwards merged into one record per pointer. This record expires with the pointer. A crash loses
 * the notes that are still in memory. So receipts may be missing, but they are never wrong.
 */
export class Receipts {
  readonly #deps: ReceiptDeps;
  readonly #pointers: PointerLookup;
  readonly #records: RecordsOf<readonly Note[]>;
  /** Notes that are not written yet, by pointer id. */
  readonly #behind: WriteBehind<readonly NoteOf[]>;

  constructor(deps: ReceiptDeps, pointers: PointerLookup) {
    this.#deps = deps;
    this.#pointers = pointers;
    this.#records = recordsOf(deps.engine.records);
    this.#behind = new WriteBehind(deps.engine, {
      delayMs: RECEIPT_DELAY_MS,
      most: RECEIPTS_WAITING,
      merge: merged,
      write: (id, notes) => this.#write(id, notes),
    });
  }

  pulled(id: string, by: Reader, bytes: number, retried: boolean): void {
    this.#note(id, { rung: 'pulled', ...doneBy(by), bytes, ...(retried ? { retries: 1 } : {}) });
  }

  /** Called when a subscriber has confirmed the message of the pointer. */
  notified(id: string, by: Reader): void {
    this.#note(id, { rung: 'notified', ...doneBy(by) });
  }

  acked(id: string, by: Reader, group: string): void {
    this.#note(id, { rung: 'acked', ...doneBy(by), group });
  }

  /** Called when a group has given up on the message of the pointer. */
  dead(id: string, { group, reason, attempts }: DeadLetter): void {
    this.#note(id, { rung: 'dead', by: 'relay', group, reason, attempts });
  }

  /**
   * Called when the result of a task is pushed. The metadata of the push names the task. The note is written only if
   * the task belongs to the same tenant.
   */
  result(caller: Caller, pointer: string, metadata: JsonObject): void {
    const { task_id, status, summary } = metadata;
    if (typeof task_id !== 'string' || !isUuid(task_id)) return;
    this.#note(task_id.toLowerCase(), {
      rung: 'result',
      ...doneBy(caller),
      pointer,
      tenant: caller.tenant,
      ...(typeof status === 'string' ? { status: status.slice(0, 100) } : {}),
      ...(typeof summary === 'string' ? { summary: summary.slice(0, 1000) } : {}),
    });
  }

  async get(caller: CallerAt, rawId: string): Promise<ReceiptLadder> {
    const { id, record } = await this.#pointers.own(caller, rawId);
    authorize(caller, receipts.get, { channel: record.channel });
    return this.ladder(caller, id, record);
  }

  /**
   * Returns the receipts of a pointer. Only other parts of the domain call it, and only after they have read
   * the record and authorized the caller.
   */
  async ladder(caller: CallerAt, id: string, record: PointerRecord): Promise<ReceiptLadder> {
    await this.flush();
    const former = await Array.fromAsync(
      entriesBehind(this.#deps.engine.logs, formerStream(id), 0),
      ({ data }) => formerNotes(data),
    );
    const notes = (await this.#records.get(receiptsKey(id)))?.value ?? [];
    return ladderOf(id, record, merged(former.flat(), notes), caller.base);
  }

  /**
   * Returns how many bytes of a pointer were pulled for a model. Leaves out pulls for an MCP tool, because
   * their text goes to the tool and not to a model. Call `flush` first.
   */
  async pulledBytes(id: string): Promise<number> {
    const notes = (await this.#records.get(receiptsKey(id)))?.value ?? [];
    const counts = ({ rung, by, by_agent: agent }: Note) =>
      rung === 'pulled' && ![by, agent].some((name) => name?.startsWith(TOOL_READER));
    return notes.reduce((bytes, note) => bytes + (counts(note) ? note.bytes : 0), 0);
  }

  /** Writes all waiting notes. Called before receipts are read and before the store is closed. */
  flush(): Promise<void> {
    return this.#behind.flush();
  }

  /** Extends the expiry of the receipts of a renewed pointer, so that they expire with the pointer. */
  async keep(id: string, expiresAt: number): Promise<void> {
    const stored = await this.#records.get(receiptsKey(id));
    // If a concurrent write comes first, this write fails and is not repeated: the concurrent write has
    // usually seen the renewed pointer and set the new expiry.
    if (stored)
      await this.#records.put(receiptsKey(id), stored.value, { expect: stored.revision, expiresAt });
  }

  /**
   * Deletes about `most` receipt logs of earlier versions that have expired. Returns false if some are
   * left.
   */
  sweep(most?: number): Promise<boolean> {
    return dropFormerReceipts(this.#deps, (id) => this.#takeOver(id), most);
  }

  #note(
    id: string,
    note: Omit<NoteOf, 'first' | 'last' | 'count' | 'bytes'> & { readonly bytes?: number },
  ): void {
    const now = this.#deps.env.now();
    this.#behind.note(id, [{ first: now, last: now, count: 1, bytes: 0, ...note }]);
  }

  async #write(id: string, notes: readonly NoteOf[]): Promise<void> {
    const record = await this.#pointers.find(id);
    if (!record) return;
    const own = notes.flatMap(({ tenant, ...note }) =>
      tenant === undefined || tenant === record.tenant ? [note] : [],
    );
    if (own.length === 0) return;
    await this.#add(id, record, own);
    // Report pulls as activity only here, when their receipts are merged: many pulls become few events.
    const at = { pointer: id, ...handleOf(record), channel: record.channel ?? undefined };
    for (const { rung, by, by_agent, count, bytes: size } of own)
      if (rung === 'pulled')
        this.#deps.activity.note(record.tenant, {
          kind: 'pointer.pulled',
          by,
          by_agent,
          ...at,
          size,
          count,
        });
  }

  async #add(id: string, record: PointerRecord, notes: readonly Note[]): Promise<void> {
    await compareAndSet('the receipts of a pointer', async () => {
      const stored = await this.#records.get(receiptsKey(id));
      const expect = stored?.revision ?? 'absent';
      const sum = merged(stored?.value ?? [], notes);
      return this.#records.put(receiptsKey(id), sum, { expect, expiresAt: record.kept ?? record.expires });
    });
  }

  /**
   * Deletes the receipt log of an earlier version. If the pointer still exists, its receipts are moved into
   * the record.
   */
  async #takeOver(id: string): Promise<void> {
    const { logs } = this.#deps.engine;
    const record = await this.#pointers.find(id);
    if (record) {
      const entries = await Array.fromAsync(entriesBehind(logs, formerStream(id), 0));
      await this.#add(
        id,
        record,
        entries.flatMap(({ data }) => formerNotes(data)),
      );
    }
    await logs.drop(formerStream(id));
  }
}

function formerNotes(data: Json): readonly Note[] {
  return isJsonObject(data) && Array.isArray(data.notes) ? fromJson<Note[]>(data.notes) : [];
}

/**
 * Merges notes of the same reader and stage. Keeps at most `RECEIPT_READERS` notes. Notes of further readers
 * are dropped.
 */
function merged(older: readonly NoteOf[], newer: readonly NoteOf[]): readonly NoteOf[] {
  const notes = new Map<string, NoteOf>();
  for (const note of [...older, ...newer]) {
    const { rung, by, by_agent, group, pointer, tenant } = note;
    const key = JSON.stringify([rung, by, by_agent, group, pointer, tenant]);
    const sum = notes.get(key);
    if (sum) notes.set(key, added(sum, note));
    else if (notes.size < RECEIPT_READERS) notes.set(key, note);
  }
  return [...notes.values()];
}

function added(sum: NoteOf, note: NoteOf): NoteOf {
  const retries = (sum.retries ?? 0) + (note.retries ?? 0);
  return {
    ...sum,
    last: Math.max(sum.last, note.last),
    count: sum.count + note.count,
    bytes: sum.bytes + note.bytes,
    ...(retries > 0 ? { retries } : {}),
  };
}

/** Returns the receipts ordered by stage, then by time. */
function ladderOf(
  id: string,
  { from, agent, created, size, handle }: PointerRecord,
  notes: readonly Note[],
  base: string,
): ReceiptLadder {
  const stored: Receipt = { rung: 'stored', ...doneBy({ name: from, agent }), at: iso(created), bytes: size };
  const sorted = notes.toSorted((a, b) => RUNGS.indexOf(a.rung) - RUNGS.indexOf(b.rung) || a.first - b.first);
  const all = [stored, ...sorted.map((note) => toReceipt(note, base))];
  return { id, ...handleOf({ handle }), reached: all.at(-1)!.rung, receipts: all };
}

/** Fields that a receipt of each stage has besides `rung`, `by` and `at`. */
const RECEIPT_FIELDS = {
  notified: ['last_at', 'count'],
  pulled: ['last_at', 'count', 'retries', 'bytes'],
  acked: ['group'],
  dead: ['group', 'reason', 'attempts'],
  result: ['url', 'status', 'summary'],
} as const;

function toReceipt(note: Note, base: string): Receipt {
  const { rung, by, by_agent, first, last, count, pointer } = note;
  const facts = {
    ...note,
    last_at: count > 1 ? iso(last) : undefined,
    url: pointer === undefined ? undefined : pointerUrl(base, pointer),
  };
  const fields = RECEIPT_FIELDS[rung]
    .filter((name) => facts[name] !== undefined)
    .map((name) => [name, facts[name]]);
  return { rung, ...doneBy({ name: by, agent: by_agent }), at: iso(first), ...Object.fromEntries(fields) };
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
