import { isUuid } from '../../base/ids.ts';
import type { JsonObject } from '../../base/json.ts';
import {
  RECEIPT_DELAY_MAX_MS,
  RECEIPT_DELAY_MS,
  RECEIPT_READERS,
  RECEIPTS_WAITING,
} from '../../base/limits.ts';
import { authorize } from '../../contract/authorize.ts';
import type { Caller, CallerAt } from '../../contract/caller.ts';
import type { DeadLetter } from '../../contract/channels.ts';
import { type ReceiptLadder, receipts } from '../../contract/pointers.ts';
import type { Deps } from '../deps.ts';
import type { PointerLookup, PointerRecord } from '../pointers/record.ts';
import { asJson, entriesBehind } from '../records.ts';
import { DueReceipts } from './due-receipts.ts';
import { ladderOf, type Note } from './ladder.ts';

type ReceiptDeps = Pick<Deps, 'engine' | 'env' | 'activity'>;

const streamOf = (id: string) => `rcp.${id}`;

const dropAt = ({ kept, expires }: PointerRecord) => (kept ?? expires) + RECEIPT_DELAY_MAX_MS;

/**
 * Who has seen what. Nobody waits for a receipt: what happens is noted in memory and written a moment later, for a
 * pointer that is read all the time ever more seldom. A crash loses the last moment, which under-reports and never
 * over-reports.
 */
export class Receipts {
  readonly #deps: ReceiptDeps;
  readonly #pointers: PointerLookup;
  readonly #due: DueReceipts;
  readonly #waiting = new Map<string, Note[]>();
  /** How long the next note of a pointer waits, for those written lately. */
  readonly #delays = new Map<string, { ms: number; until: number }>();
  #writing = Promise.resolve();

  constructor(deps: ReceiptDeps, pointers: PointerLookup) {
    this.#deps = deps;
    this.#pointers = pointers;
    this.#due = new DueReceipts(deps, {
      dropAt: async (id) => {
        const record = await pointers.find(id);
        return record && dropAt(record);
      },
      drop: (id) => deps.engine.logs.drop(streamOf(id)),
    });
  }

  pulled(id: string, by: string, bytes: number, retried: boolean): void {
    this.#note(id, 'pulled', by, bytes, retried ? { retries: 1 } : {});
  }

  /** A subscriber has answered after the message was sent to it. */
  notified(id: string, by: string): void {
    this.#note(id, 'notified', by, 0);
  }

  acked(id: string, by: string, group: string): void {
    this.#note(id, 'acked', by, 0, { group });
  }

  /** A group has given it up. */
  dead(id: string, { group, reason, attempts }: DeadLetter): void {
    this.#note(id, 'dead', 'relay', 0, { group, reason, attempts });
  }

  /** A push says in its metadata which task it is the result of. Whether that is the same tenant's shows on writing. */
  result(caller: Caller, pointer: string, metadata: JsonObject): void {
    const { task_id, status, summary } = metadata;
    if (typeof task_id !== 'string' || !isUuid(task_id)) return;
    this.#note(task_id.toLowerCase(), 'result', caller.name, 0, {
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

  /** The same for the domain itself, which has the record already. */
  async ladder(caller: CallerAt, id: string, record: PointerRecord): Promise<ReceiptLadder> {
    const { engine } = this.#deps;
    await this.#write([id]);
    const noted = await Array.fromAsync(entriesBehind(engine.logs, streamOf(id), 0), ({ data }) => data);
    return ladderOf(id, record, noted, caller.base);
  }

  /** Writes everything that waits: before the store is closed. */
  async flush(): Promise<void> {
    await this.#write([...this.#waiting.keys()]);
  }

  /** Drops the receipts of pointers that are gone, about `most` of them; false where some are left. */
  tidy(most?: number): Promise<boolean> {
    return this.#due.drop(most);
  }

  #note(
    id: string,
    rung: Note['rung'],
    by: string,
    bytes: number,
    more: Pick<Note, 'group' | 'reason' | 'attempts' | 'pointer' | 'status' | 'summary' | 'retries'> & {
      tenant?: string;
    } = {},
  ): void {
    const now = this.#deps.env.now();
    let waiting = this.#waiting.get(id);
    if (!waiting) {
      if (this.#waiting.size >= RECEIPTS_WAITING) return;
      const due = Math.max(now + RECEIPT_DELAY_MS, this.#delays.get(id)?.until ?? 0);
      waiting = [];
      this.#waiting.set(id, waiting);
      this.#writeAt(due, id);
    }
    for (const note of waiting) {
      if (note.rung !== rung || note.by !== by || note.group !== more.group || note.pointer !== more.pointer)
        continue;
      note.last = now;
      note.count++;
      note.bytes += bytes;
      if (more.retries) note.retries = (note.retries ?? 0) + more.retries;
      return;
    }
    if (waiting.length >= RECEIPT_READERS) return;
    waiting.push({ rung, by, first: now, last: now, count: 1, bytes, ...more });
  }

  /** Pulls are told with their receipts, which are the fewer the more of them there are. */
  #tell(pointer: string, { tenant, channel }: PointerRecord, notes: readonly Note[]): void {
    for (const { rung, by, count, bytes: size } of notes) {
      if (rung !== 'pulled') continue;
      const of = channel === null ? { pointer } : { pointer, channel };
      this.#deps.activity.note(tenant, { kind: 'pointer.pulled', by, ...of, size, count });
    }
  }

  /** On a common beat, so that the engine makes one commit of those that are due at about the same time. */
  #writeAt(due: number, id: string): void {
    const { engine, env } = this.#deps;
    const beat = Math.ceil(due / RECEIPT_DELAY_MS) * RECEIPT_DELAY_MS;
    engine.defer(() => this.#write([id]), beat - env.now());
  }

  /** Writes everything at once, so that the engine makes one commit of it. */
  #write(ids: readonly string[]): Promise<void> {
    const taken = ids.flatMap((id) => {
      const notes = this.#waiting.get(id);
      this.#waiting.delete(id);
      return notes ? [{ id, notes }] : [];
    });
    const writes = taken.map(({ id, notes }) => this.#writeOne(id, notes));
    // Gives nothing: what each write resolved to would otherwise be held by the one after it.
    this.#writing = Promise.allSettled([this.#writing, ...writes]).then(() => {});
    return this.#writing;
  }

  async #writeOne(id: string, notes: readonly (Note & { tenant?: string })[]): Promise<void> {
    const { logs } = this.#deps.engine;
    const record = await this.#pointers.find(id);
    if (!record) return;
    const own = notes.flatMap(({ tenant, ...note }) =>
      tenant === undefined || tenant === record.tenant ? [note] : [],
    );
    if (own.length === 0) return;
    const known = this.#delays.get(id);
    const now = this.#deps.env.now();
    const busy = known !== undefined && now < known.until + known.ms;
    const ms = busy ? Math.min(known.ms * 2, RECEIPT_DELAY_MAX_MS) : RECEIPT_DELAY_MS;
    this.#delays.delete(id);
    this.#delays.set(id, { ms, until: now + ms });
    if (this.#delays.size > RECEIPTS_WAITING) this.#delays.delete(this.#delays.keys().next().value!);
    this.#tell(id, record, own);
    await Promise.all([
      known ? null : this.#due.add(id, dropAt(record)),
      logs.append(streamOf(id), asJson({ notes: own })),
    ]);
  }
}
