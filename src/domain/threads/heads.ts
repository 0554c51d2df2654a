import { isRelayError } from '../../base/errors.ts';
import { SNAPSHOT_LOG_BYTES, SNAPSHOTS, STATE_CACHE_BYTES } from '../../base/limits.ts';
import { pause } from '../../base/pause.ts';
import { readText } from '../../base/utf8.ts';
import { WorkMeter } from '../../base/work-meter.ts';
import type { Engine } from '../../kernel/engine.ts';
import { compareAndSet } from '../../kernel/records.ts';
import type { Background } from '../background.ts';
import { asJson, fromJson, type RecordsOf, recordsOf } from '../records.ts';
import { makesVersion, type StoredEvent } from './event.ts';
import { advance, emptyHead, type Head, type KeyUse, type MutableHead } from './fold.ts';
import { idOf, logOf, snapshotBlob, snapshotsKey, type ThreadRoot } from './keys.ts';
import { bytesOf, type Sized } from './state.ts';

/** Entries read at once, and about how many bytes of them: some are large, and parsing them holds the event loop. */
const PAGE = 200;
const PAGE_BYTES = 256 * 1024;
/** Steps of a fold (see WorkMeter) on the event loop before others have a turn: some milliseconds. */
const SLICE_WORK = 1_000_000;

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
  readonly #cache = new Map<ThreadRoot, { head: MutableHead; bytes: number }>();
  #bytes = 0;

  constructor(engine: Engine, background: Background) {
    this.#engine = engine;
    this.#background = background;
    this.#snapshots = new Snapshots(engine);
  }

  /** The thread as it is now, including what other processes have appended. Null for an empty log. */
  async load(root: ThreadRoot): Promise<Head | null> {
    let head = this.#cache.get(root)?.head ?? (await this.#coldStart(root));
    let meter = new WorkMeter();
    for await (const { seq, event } of this.events(root, head.seq, PAGE)) {
      // While this one was waiting, another may have taken the same entries into the same head.
      if (seq <= head.seq) continue;
      // A log that begins anew belongs to a new thread under the same id; nothing of the old one counts.
      if (head.count > 0 && event.type === 'thread.created') {
        this.forget(root);
        head = emptyHead(root);
      }
      advance(head, seq, event, { meter });
      if (meter.spent < SLICE_WORK) continue;
      meter = new WorkMeter();
      await pause(0);
    }
    if (head.count === 0) return null;
    this.#keep(root, head);
    return { ...head };
  }

  /** What was just appended behind `before`, with the state it led to. Takes a snapshot where one is due. */
  appended(before: Head, seq: number, event: StoredEvent, ready: Sized): Head {
    const cached = this.#cache.get(before.root)?.head;
    if (cached && cached.seq >= seq) return { ...cached };
    const head: MutableHead =
      cached?.seq === before.seq
        ? cached
        : { ...before, refs: before.refs.slice(0, before.totals.artifacts), keys: new Map(before.keys) };
    advance(head, seq, event, { ready });
    this.#keep(before.root, head);
    const after = { ...head };
    if (this.#snapshots.isDue(after)) {
      head.logBytes = 0;
      this.#background.run(() => this.#snapshots.save(after));
    }
    return after;
  }

  forget(root: ThreadRoot): void {
    const cached = this.#cache.get(root);
    if (!cached) return;
    this.#bytes -= cached.bytes;
    this.#cache.delete(root);
  }

  /** Where a fold to a version begins: at the nearest snapshot before it, or with nothing. */
  async near(root: ThreadRoot, version: number): Promise<MutableHead> {
    const marks = await this.#snapshots.marks(root);
    const mark = marks.findLast((one) => one.version <= version);
    return (mark && (await this.#snapshots.load(root, mark))) || emptyHead(root);
  }

  /** The events behind a sequence, up to the one that made a version. */
  async *upTo(root: ThreadRoot, after: number, version: number): AsyncGenerator<StoredEvent> {
    for await (const { event } of this.events(root, after)) {
      yield event;
      if (makesVersion(event) && (event.payload.version as number) >= version) return;
    }
  }

  /**
   * Everything behind a sequence, in pages that begin small: an early version is found without reading on. However fast the engine
   * answers, others have a turn now and then.
   */
  async *events(root: ThreadRoot, after: number, first = 32): AsyncGenerator<SeenEvent> {
    let from = after;
    let bytes = 0;
    for (let limit = first; ; limit = Math.min(limit * 2, PAGE)) {
      const asked = { after: from, limit, maxBytes: PAGE_BYTES };
      const { entries } = await this.#engine.logs.read(logOf(root), asked);
      if (entries.length === 0) return;
      for (const { seq, data } of entries) {
        const event = await this.whole(fromJson(data));
        yield { seq, event };
        from = seq;
        bytes += bytesOf(asJson(event));
      }
      if (bytes < PAGE_BYTES) continue;
      bytes = 0;
      await pause(0);
    }
  }

  /** The nearest known place at or before an event's number. */
  async placeOf(root: ThreadRoot, count: number): Promise<{ seq: number; count: number }> {
    const cached = this.#cache.get(root)?.head;
    if (cached && cached.count <= count) return { seq: cached.seq, count: cached.count };
    const marks = await this.#snapshots.marks(root);
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

  async #coldStart(root: ThreadRoot): Promise<MutableHead> {
    const marks = await this.#snapshots.marks(root);
    for (const mark of marks.toReversed()) {
      const head = await this.#snapshots.load(root, mark);
      if (head) return head;
    }
    return emptyHead(root);
  }

  #keep(root: ThreadRoot, head: MutableHead): void {
    this.forget(root);
    this.#cache.set(root, { head, bytes: head.bytes });
    this.#bytes += head.bytes;
    for (const [oldest] of this.#cache) {
      if (this.#bytes <= STATE_CACHE_BYTES || oldest === root) break;
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

  async marks(root: ThreadRoot): Promise<readonly SnapshotMark[]> {
    return (await this.#marks.get(snapshotsKey(root)))?.value ?? [];
  }

  async load(root: ThreadRoot, mark: SnapshotMark): Promise<MutableHead | null> {
    const body = await this.#read(snapshotBlob(root, mark.version));
    if (!body) return null;
    if (body.seq !== mark.seq || body.state.thread_id !== idOf(root)) return null;
    // One of before prompts were counted: they are folded from the log.
    if (body.totals.prompts === undefined) return null;
    const { version, seq, count, state, totals, refs } = body;
    const bytes = bytesOf(state);
    return { ...emptyHead(root), version, seq, count, state, bytes, totals, refs, keys: new Map(body.keys) };
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
    const { root, version, seq, count, state, totals } = head;
    // A cached head goes on growing its lists while this one is written.
    const refs = head.refs.slice(0, totals.artifacts);
    const body: SnapshotBody = { version, seq, count, state, totals, refs, keys: [...head.keys] };
    await this.#engine.blobs.put(snapshotBlob(root, version), new TextEncoder().encode(JSON.stringify(body)));
    const dropped = await compareAndSet('the list of snapshots', async () => {
      const stored = await this.#marks.get(snapshotsKey(root));
      const before = stored?.value ?? [];
      if (before.some((mark) => mark.version === version && mark.seq >= seq)) return [];
      // Events that make no version have come since: the blob of this version is newer than its mark.
      const others = before.filter((mark) => mark.version !== version);
      const marks = [...others, { version, seq, count }].sort((a, b) => a.version - b.version);
      const kept = marks.length > SNAPSHOTS ? thinned(marks) : marks;
      const expect = stored ? stored.revision : 'absent';
      if ((await this.#marks.put(snapshotsKey(root), kept, { expect })) === null) return null;
      return marks.filter((mark) => !kept.includes(mark));
    });
    for (const mark of dropped) await this.#engine.blobs.delete(snapshotBlob(root, mark.version));
  }
}

/** Every second one, but always the newest. */
function thinned(marks: readonly SnapshotMark[]): SnapshotMark[] {
  return marks.filter((_, i) => (marks.length - 1 - i) % 2 === 0);
}
