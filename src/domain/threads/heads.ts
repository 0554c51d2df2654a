import { isRelayError } from '../../base/errors.ts';
import { SNAPSHOT_LOG_BYTES, SNAPSHOTS, STATE_CACHE_BYTES } from '../../base/limits.ts';
import { readText } from '../../base/read-text.ts';
import { compareAndSet } from '../../kernel/compare-and-set.ts';
import type { Engine } from '../../kernel/engine.ts';
import type { Entry } from '../../kernel/logs.ts';
import type { Background } from '../background.ts';
import { fromJson, type RecordsOf, recordsOf } from '../records.ts';
import type { StoredEvent } from './event.ts';
import { advance, emptyHead, type Head, type KeyUse, type MutableHead } from './fold.ts';
import { logOf, snapshotBlob, snapshotsKey } from './keys.ts';
import { bytesOf, type Sized } from './state.ts';

/** Entries read at once. Some are large. */
const PAGE = 200;

export interface SeenEvent {
  readonly seq: number;
  readonly event: StoredEvent;
}

/** The folded heads of threads, kept in memory and brought up to date from the log at every use. */
export class Heads {
  readonly #engine: Engine;
  readonly #background: Background;
  readonly #snapshots: Snapshots;
  /** The least recently used first. */
  readonly #cache = new Map<string, { head: MutableHead; bytes: number }>();
  #bytes = 0;

  constructor(engine: Engine, background: Background) {
    this.#engine = engine;
    this.#background = background;
    this.#snapshots = new Snapshots(engine);
  }

  /** The thread as it is now, including what other processes have appended. Null for an empty log. */
  async load(id: string): Promise<Head | null> {
    let head = this.#cache.get(id)?.head ?? (await this.#coldStart(id));
    for (;;) {
      const { entries } = await this.#engine.logs.read(logOf(id), { after: head.seq, limit: PAGE });
      if (entries.length === 0) break;
      const seen = await this.#seen(entries);
      // A log that begins anew belongs to a new thread under the same id; nothing of the old one counts.
      if (head.count > 0 && seen.some(({ event }) => event.type === 'thread.created')) {
        this.forget(id);
        head = emptyHead(id);
        continue;
      }
      // While this one was waiting, another may have taken the same entries into the same head.
      for (const { seq, event } of seen) if (seq > head.seq) advance(head, seq, event);
    }
    if (head.count === 0) return null;
    this.#keep(id, head);
    return { ...head };
  }

  /** What was just appended behind `before`, with the state it led to. Takes a snapshot where one is due. */
  appended(before: Head, seq: number, event: StoredEvent, ready: Sized): Head {
    const cached = this.#cache.get(before.id)?.head;
    if (cached && cached.seq >= seq) return { ...cached };
    const head: MutableHead =
      cached?.seq === before.seq
        ? cached
        : { ...before, refs: before.refs.slice(0, before.totals.artifacts), keys: new Map(before.keys) };
    advance(head, seq, event, ready);
    this.#keep(before.id, head);
    const after = { ...head };
    if (this.#snapshots.isDue(after)) {
      head.logBytes = 0;
      this.#background.run(() => this.#snapshots.save(after));
    }
    return after;
  }

  forget(id: string): void {
    const cached = this.#cache.get(id);
    if (!cached) return;
    this.#bytes -= cached.bytes;
    this.#cache.delete(id);
  }

  /** The thread at each of the versions, which are given in rising order and exist; `whole` ignores snapshots. */
  async at(id: string, versions: readonly number[], o: { whole?: boolean } = {}): Promise<Head[]> {
    const marks = o.whole ? [] : await this.#snapshots.marks(id);
    const near = marks.findLast((mark) => mark.version <= versions[0]!);
    const head = (near && (await this.#snapshots.load(id, near))) || emptyHead(id);
    const found: Head[] = [];
    const take = () => {
      while (found.length < versions.length && versions[found.length] === head.version)
        found.push({ ...head, refs: [...head.refs], keys: new Map(head.keys) });
    };
    take();
    for await (const { seq, event } of this.events(id, head.seq)) {
      if (found.length === versions.length) break;
      advance(head, seq, event);
      take();
    }
    return found;
  }

  /** Everything behind a sequence, in pages that begin small: an early version is found without reading on. */
  async *events(id: string, after: number): AsyncGenerator<SeenEvent> {
    let limit = 32;
    let from = after;
    for (;;) {
      const { entries } = await this.#engine.logs.read(logOf(id), { after: from, limit });
      if (entries.length === 0) return;
      yield* await this.#seen(entries);
      from = entries.at(-1)!.seq;
      limit = Math.min(limit * 2, PAGE);
    }
  }

  /** The nearest known place at or before an event's number. */
  async placeOf(id: string, count: number): Promise<{ seq: number; count: number }> {
    const cached = this.#cache.get(id)?.head;
    if (cached && cached.count <= count) return { seq: cached.seq, count: cached.count };
    const marks = await this.#snapshots.marks(id);
    return marks.findLast((mark) => mark.count <= count) ?? { seq: 0, count: 0 };
  }

  /** The whole event, with the operations that had to be stored in a blob. */
  async whole(event: StoredEvent): Promise<StoredEvent> {
    if (event.ops_blob === undefined) return event;
    const found = await this.#engine.blobs.get(event.ops_blob);
    if (!found) return event;
    const { ops_blob: _, ...rest } = event;
    return { ...rest, payload: { ...event.payload, ops: JSON.parse(await readText(found.body)) } };
  }

  async #seen(entries: readonly Entry[]): Promise<SeenEvent[]> {
    return Promise.all(
      entries.map(async ({ seq, data }) => ({ seq, event: await this.whole(fromJson(data)) })),
    );
  }

  async #coldStart(id: string): Promise<MutableHead> {
    const marks = await this.#snapshots.marks(id);
    for (const mark of marks.toReversed()) {
      const head = await this.#snapshots.load(id, mark);
      if (head) return head;
    }
    return emptyHead(id);
  }

  #keep(id: string, head: MutableHead): void {
    this.forget(id);
    this.#cache.set(id, { head, bytes: head.bytes });
    this.#bytes += head.bytes;
    for (const [oldest] of this.#cache) {
      if (this.#bytes <= STATE_CACHE_BYTES || oldest === id) break;
      this.forget(oldest);
    }
  }
}

/** What a reference and an idempotency key take in a snapshot, about. */
const REF_BYTES = 32;
const KEY_BYTES = 100;

/** Where a snapshot stands in its thread. */
type SnapshotMark = Pick<Head, 'version' | 'seq' | 'count'>;

/** What a snapshot's blob holds: everything that would otherwise have to be folded from the beginning. */
interface SnapshotBody extends SnapshotMark, Pick<Head, 'state' | 'totals'> {
  readonly refs: string[];
  readonly keys: [string, KeyUse][];
}

/** Folded states, kept so that a read begins near its version. They can all be lost: the log is the truth. */
class Snapshots {
  readonly #engine: Engine;
  readonly #marks: RecordsOf<readonly SnapshotMark[]>;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.#marks = recordsOf(engine.records);
  }

  /** Whether so much log has come since the last one that the next is due. */
  isDue(head: Head): boolean {
    const { bytes, refs, keys } = head;
    return (
      head.logBytes > Math.max(SNAPSHOT_LOG_BYTES, bytes + REF_BYTES * refs.length + KEY_BYTES * keys.size)
    );
  }

  async marks(id: string): Promise<readonly SnapshotMark[]> {
    return (await this.#marks.get(snapshotsKey(id)))?.value ?? [];
  }

  async load(id: string, mark: SnapshotMark): Promise<MutableHead | null> {
    const body = await this.#read(snapshotBlob(id, mark.version));
    if (!body) return null;
    if (body.seq !== mark.seq || body.state.thread_id !== id) return null;
    // One of before prompts were counted: they are folded from the log.
    if (body.totals.prompts === undefined) return null;
    const { version, seq, count, state, totals, refs } = body;
    const bytes = bytesOf(state);
    return { ...emptyHead(id), version, seq, count, state, bytes, totals, refs, keys: new Map(body.keys) };
  }

  /** Null for one that is gone or damaged. */
  async #read(key: string): Promise<SnapshotBody | null> {
    try {
      const found = await this.#engine.blobs.get(key);
      return found && JSON.parse(await readText(found.body));
    } catch (error) {
      if (isRelayError(error, 'store_damaged')) return null;
      throw error;
    }
  }

  /** The blob comes first: a mark without one is passed over, a blob without a mark is overwritten some day. */
  async save(head: Head): Promise<void> {
    const { id, version, seq, count, state, totals } = head;
    // A cached head goes on growing its lists while this one is written.
    const refs = head.refs.slice(0, totals.artifacts);
    const body: SnapshotBody = { version, seq, count, state, totals, refs, keys: [...head.keys] };
    await this.#engine.blobs.put(snapshotBlob(id, version), new TextEncoder().encode(JSON.stringify(body)));
    const dropped = await compareAndSet('the list of snapshots', async () => {
      const stored = await this.#marks.get(snapshotsKey(id));
      const before = stored?.value ?? [];
      if (before.some((mark) => mark.version === version && mark.seq >= seq)) return [];
      // Events that make no version have come since: the blob of this version is newer than its mark.
      const others = before.filter((mark) => mark.version !== version);
      const marks = [...others, { version, seq, count }].sort((a, b) => a.version - b.version);
      const kept = marks.length > SNAPSHOTS ? thinned(marks) : marks;
      const expect = stored ? stored.revision : 'absent';
      if ((await this.#marks.put(snapshotsKey(id), kept, { expect })) === null) return null;
      return marks.filter((mark) => !kept.includes(mark));
    });
    for (const mark of dropped) await this.#engine.blobs.delete(snapshotBlob(id, mark.version));
  }
}

/** Every second one, but always the newest. */
function thinned(marks: readonly SnapshotMark[]): SnapshotMark[] {
  return marks.filter((_, i) => (marks.length - 1 - i) % 2 === 0);
}
