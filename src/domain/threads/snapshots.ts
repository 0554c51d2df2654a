import { SNAPSHOT_LOG_BYTES, SNAPSHOTS } from '../../base/limits.ts';
import { readText } from '../../base/read-text.ts';
import type { State } from '../../contract/threads/state.ts';
import { compareAndSet } from '../../kernel/compare-and-set.ts';
import type { Engine } from '../../kernel/engine.ts';
import { type RecordsOf, recordsOf } from '../records.ts';
import { emptyHead, type Head, type KeyUse, type MutableHead } from './fold.ts';
import { snapshotBlob, snapshotsKey } from './keys.ts';
import { bytesOf } from './state.ts';
import type { Totals } from './totals.ts';

/** Where a snapshot stands in its thread. */
export interface SnapshotMark {
  readonly version: number;
  readonly seq: number;
  readonly count: number;
}

/** What a snapshot's blob holds: everything that would otherwise have to be folded from the beginning. */
interface SnapshotBody extends SnapshotMark {
  readonly state: State;
  readonly totals: Totals;
  readonly refs: string[];
  readonly keys: [string, KeyUse][];
}

/** Folded states, kept so that a read begins near its version. They can all be lost: the log is the truth. */
export class Snapshots {
  readonly #engine: Engine;
  readonly #marks: RecordsOf<readonly SnapshotMark[]>;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.#marks = recordsOf(engine.records);
  }

  /** Whether so much log has come since the last one that the next is due. */
  isDue(head: Head): boolean {
    return head.logBytes > Math.max(SNAPSHOT_LOG_BYTES, head.bytes);
  }

  async marks(id: string): Promise<readonly SnapshotMark[]> {
    return (await this.#marks.get(snapshotsKey(id)))?.value ?? [];
  }

  async load(id: string, mark: SnapshotMark): Promise<MutableHead | null> {
    const found = await this.#engine.blobs.get(snapshotBlob(id, mark.version));
    if (!found) return null;
    const body = JSON.parse(await readText(found.body)) as SnapshotBody;
    if (body.seq !== mark.seq || body.state.thread_id !== id) return null;
    const { version, seq, count, state, totals, refs } = body;
    const bytes = bytesOf(state);
    return { ...emptyHead(id), version, seq, count, state, bytes, totals, refs, keys: new Map(body.keys) };
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
      if (before.some((mark) => mark.version === version)) return [];
      const marks = [...before, { version, seq, count }].sort((a, b) => a.version - b.version);
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
