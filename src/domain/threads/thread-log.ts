import { isRelayError, RelayError } from '../../base/errors.ts';
import { isUuid, toHex } from '../../base/ids.ts';
import type { Json } from '../../base/json.ts';
import { SNAPSHOT_LOG_BYTES, SNAPSHOTS, STATE_CACHE_BYTES } from '../../base/limits.ts';
import { pause } from '../../base/pause.ts';
import { readText } from '../../base/utf8.ts';
import { WorkMeter } from '../../base/work-meter.ts';
import type { ActivityKind } from '../../contract/activity.ts';
import { reaches } from '../../contract/authorize.ts';
import { type Caller, doneBy } from '../../contract/caller.ts';
import type { ThreadEvent, ThreadsApi } from '../../contract/threads.ts';
import type { Engine } from '../../kernel/engine.ts';
import { compareAndSet, type Staged } from '../../kernel/records.ts';
import { Background } from '../background.ts';
import type { Deps } from '../deps.ts';
import { asJson, fromJson, type RecordsOf, recordsOf } from '../records.ts';
import type { Storage } from '../usage/storage.ts';
import { ArtifactIndex } from './artifact-index.ts';
import { eventBytes, eventStorageBytes, makesVersion, type StoredEvent, toWire } from './event.ts';
import {
  advance,
  emptyHead,
  type Head,
  type KeyUse,
  type MutableHead,
  promptFigures,
  stateAfter,
} from './fold.ts';
import type { FoldAnswers, FoldKind } from './fold-job.ts';
import {
  idOf,
  logOf,
  metaKey,
  opsBlob,
  rootsFor,
  snapshotBlob,
  snapshotsKey,
  type ThreadRoot,
} from './keys.ts';
import { jsonBytes, type SizedState } from './state.ts';
import { markChanged } from './tenant-totals.ts';
import { TokenLedger } from './token-ledger.ts';

/** The meta record of a thread, stored next to its log. Without this record the thread does not exist. */
export interface ThreadMeta {
  readonly tenant: string;
  readonly name: string;
  readonly created: number;
  readonly by: string;
  /** Id of the API key that created the thread. Absent in threads made before 0.3. */
  readonly key?: string;
  /** Expiry time in ms since the epoch. The meta record expires at this time, and the thread with it. */
  readonly expires?: number;
}

/** The record of an existing thread, and the root under which the thread is stored. */
interface FoundThread extends ThreadMeta {
  readonly root: ThreadRoot;
}

/**
 * What a commit does. Either it appends an event to the head that was read, or it does nothing because the work is
 * already done.
 */
type Plan<T> =
  | { readonly done: T }
  | {
      readonly event: StoredEvent;
      /** Blobs and records committed together with the event. */
      readonly with?: readonly Staged[];
      readonly answer: (after: Head) => T;
    };

/** Listener that updates derived data when the log of a thread changes. Its methods are not awaited. */
interface Follower {
  /** Called before every append. It must be fast, and must do no harm if the append fails. */
  before?(head: Head): void;
  /** Called after every append. */
  appended?(head: Head, event: StoredEvent): void;
  /** Called after all data of a thread was deleted. */
  removed?(root: ThreadRoot): void;
}

/** Implementation of a thread verb: takes the log, the caller and the arguments of the verb. */
export type ThreadVerb<M extends keyof ThreadsApi> = (
  log: ThreadLog,
  caller: Caller,
  ...args: Parameters<ThreadsApi[M]>
) => ReturnType<ThreadsApi[M]>;

/** Event types that are written even when the tenant is over its storage quota. */
const QUOTA_EXEMPT_TYPES: ReadonlySet<string> = new Set([
  'artifact.pulled',
  'artifact.deleted',
  'prompt.rendered',
]);

/**
 * Reads and writes the logs of threads. Every append names the head for which it was made, so concurrent
 * writes are detected.
 */
export class ThreadLog {
  readonly deps: Deps;
  readonly background: Background;
  readonly heads: Heads;
  readonly storage: Storage;
  readonly followers: Follower[] = [];
  /** Meta records of threads (see `metaKey`). */
  readonly metas: RecordsOf<ThreadMeta>;
  /**
   * The last writer in the queue of each thread. Within one process, writers of a thread wait for each other instead
   * of racing.
   */
  readonly #turns = new Map<string, Promise<unknown>>();
  #ledger: TokenLedger | undefined;
  #index: ArtifactIndex | undefined;

  constructor(deps: Deps, storage: Storage) {
    this.deps = deps;
    this.background = new Background(deps);
    this.storage = storage;
    this.heads = new Heads(deps.engine, this.background);
    this.metas = recordsOf(deps.engine.records);
  }

  get ledger(): TokenLedger {
    this.#ledger ??= new TokenLedger(this);
    return this.#ledger;
  }

  get index(): ArtifactIndex {
    this.#index ??= new ArtifactIndex(this);
    return this.#index;
  }

  /** Waits for all background work. */
  settle(): Promise<void> {
    return this.#ledger ? this.#ledger.flush() : this.background.settle();
  }

  /** Stops long background work because the store is about to close. The next process continues it. */
  closing(): void {
    this.#index?.closing();
  }

  /**
   * Returns the meta record of a thread. A thread that does not exist and a thread that the caller may not access give
   * the same error.
   */
  async meta(caller: Caller, id: string): Promise<FoundThread> {
    const isAllowed = caller.thread === undefined || caller.thread === id;
    const found = isAllowed ? await this.find(caller.tenant, id) : null;
    if (!found || !reaches(caller, { by: found.key })) throw threadNotFound(id);
    return found;
  }

  /** Finds a tenant's thread by its id. Returns null if the tenant has no such thread. */
  async find(tenant: string, id: string): Promise<FoundThread | null> {
    if (!isUuid(id)) return null;
    for (const root of rootsFor(tenant, id)) {
      const meta = (await this.metas.get(metaKey(root)))?.value;
      if (meta?.tenant === tenant) return { ...meta, root };
    }
    return null;
  }

  /** Returns the tenant whose thread is stored at the root, or undefined if there is none. */
  async ownerOf(root: ThreadRoot): Promise<string | undefined> {
    return (await this.metas.get(metaKey(root)))?.value.tenant;
  }

  /** Returns the current head of a thread that the caller may read. */
  async head(caller: Caller, id: string): Promise<Head> {
    return this.#load((await this.meta(caller, id)).root);
  }

  async #load(root: ThreadRoot): Promise<Head> {
    const head = await this.heads.load(root);
    if (!head) throw threadNotFound(idOf(root));
    return head;
  }

  /**
   * Computes an answer of the given kind from the log of a thread, up to the highest of `versions` (see `FoldJob`). The
   * computation runs in a worker thread if there is one. It starts at the newest snapshot that is not newer than the
   * lowest of `versions`, or with `withOps` at the first event.
   */
  async fold<K extends FoldKind>(
    { tenant }: Pick<Caller, 'tenant'>,
    root: ThreadRoot,
    kind: K,
    versions: readonly number[],
    o: { withOps?: true } = {},
  ): Promise<FoldAnswers[K]> {
    const load = async () => {
      const first = Math.min(...versions);
      const start = o.withOps ? emptyHead(root) : await this.heads.nearestSnapshot(root, first);
      const events = this.heads.eventsUpTo(root, start.seq, Math.max(...versions));
      return { job: { kind, start, versions }, events };
    };
    return this.deps.texts.fold(load, { tenant });
  }

  /**
   * Calls `plan` with the current head and appends the event that it returns. Repeats both if another writer
   * appended first.
   */
  async commit<T>(caller: Caller, id: string, plan: (head: Head) => Plan<T> | Promise<Plan<T>>): Promise<T> {
    return this.#inTurn(`${caller.tenant}/${id}`, async () => {
      const { root } = await this.meta(caller, id);
      const { answer } = await compareAndSet(`thread ${id}`, async () => {
        const head = await this.#load(root);
        const planned = await plan(head);
        if ('done' in planned) return { answer: planned.done };
        const event = signed(caller, planned.event);
        const after = await this.append(caller.tenant, head, event, { with: planned.with });
        return after && { answer: planned.answer(after) };
      });
      return answer;
    });
  }

  /**
   * Appends an event. Returns null if another append came first. Throws if the event would make an invalid
   * state. With `imported`, skips the quota check and does not report the event as activity.
   */
  async append(
    tenant: string,
    head: Head,
    event: StoredEvent,
    o: { imported?: true; with?: readonly Staged[] } = {},
  ): Promise<Head | null> {
    const { blobs, logs } = this.deps.engine;
    const ready = stateAfter(head, event);
    const bytes = eventStorageBytes(event);
    // The import has already checked the quota for all its events.
    if (!o.imported && !QUOTA_EXEMPT_TYPES.has(event.type)) await this.storage.admit(tenant, bytes);
    const stored = await this.#offloadOps(head.root, event);
    for (const follower of this.followers) follower.before?.(head);
    const frees = event.type === 'artifact.deleted';
    const options = { expectSeq: head.seq, with: o.with, frees };
    const write = () => logs.append(logOf(head.root), asJson(stored), options);
    const [seq] = await Promise.all([
      this.storage.counted(tenant, bytes, write, (found) => found !== null, frees),
      // An import changes the thread once, when it is complete, and not with each event.
      o.imported ? null : markChanged(this.deps, tenant, head.id),
    ]);
    if (seq === null) {
      if (stored.ops_blob !== undefined) await blobs.delete(stored.ops_blob);
      return null;
    }
    const after = this.heads.appended(head, seq, event, ready);
    this.announce(after, event);
    if (!o.imported) noteActivity(this.deps, tenant, after, event);
    return after;
  }

  /** Notifies the followers of an appended event. */
  announce(head: Head, event: StoredEvent): void {
    for (const follower of this.followers) follower.appended?.(head, event);
  }

  /** Appends an event that does not change the state. */
  note(caller: Caller, id: string, event: StoredEvent): Promise<ThreadEvent> {
    return this.commit(caller, id, (head) => ({
      event,
      answer: () => toWire(head.id, head.count + 1, event),
    }));
  }

  /**
   * Moves operations that are too large for a log entry into a blob. If another append comes first, `append` deletes
   * the blob. After a crash or another error, the blob stays until the thread is deleted.
   */
  async #offloadOps(root: ThreadRoot, event: StoredEvent): Promise<StoredEvent> {
    const { engine, env } = this.deps;
    if (event.payload.ops === undefined || eventBytes(event) <= engine.limits.entryBytes) return event;
    const { ops, ...payload } = event.payload;
    const key = opsBlob(root, toHex(env.randomBytes(8)));
    await engine.blobs.put(key, new TextEncoder().encode(JSON.stringify(ops)));
    return { ...event, payload, ops_blob: key };
  }

  async #inTurn<T>(thread: string, work: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(thread);
    const running = before ? before.then(work, work) : work();
    // The next writer waits for this writer, even if it fails. Only this writer's caller gets the error.
    const settled = running.catch(() => {});
    this.#turns.set(thread, settled);
    try {
      return await running;
    } finally {
      if (this.#turns.get(thread) === settled) this.#turns.delete(thread);
    }
  }
}

/** Adds the name of the caller's agent to an event. */
function signed({ agent }: Caller, event: StoredEvent): StoredEvent {
  return agent === undefined ? event : { ...event, payload: { ...event.payload, by_agent: agent } };
}

function threadNotFound(id: string): RelayError {
  return new RelayError('not_found', {
    what: `thread ${id.slice(0, 64)}`,
    hint: 'List all threads with: relay thread list',
  });
}

/** Event types with their own kind of activity. All other event types are reported as `thread.event`. */
const ACTIVITY_KINDS: { readonly [type: string]: ActivityKind } = {
  'thread.created': 'thread.created',
  'state.patch.applied': 'thread.patched',
  'checkpoint.created': 'thread.patched',
  'artifact.created': 'artifact.created',
  'artifact.deleted': 'artifact.deleted',
  'pipeline.started': 'pipeline.started',
  'pipeline.resumed': 'pipeline.resumed',
  'pipeline.finished': 'pipeline.finished',
  'step.started': 'step.started',
  'step.done': 'step.done',
  'step.failed': 'step.failed',
};

/**
 * Reports an appended event as activity. Shortens names, because events of clients can contain any text.
 * Skips reads with `counted: false`: otherwise a dashboard that shows activity would create activity.
 */
function noteActivity({ activity }: Deps, tenant: string, head: Head, event: StoredEvent): void {
  const { type, payload } = event;
  if (type === 'artifact.pulled' && payload.counted === false) return;
  const kind = ACTIVITY_KINDS[type] ?? 'thread.event';
  const prompt = promptFigures(event);
  activity.note(
    tenant,
    {
      kind,
      ...doneBy({ name: shortText(payload.by) ?? 'relay', agent: shortText(payload.by_agent) }),
      thread: head.id,
      event: String(head.count),
      type,
      version: makesVersion(event) ? head.version : undefined,
      artifact: shortText(payload.ref),
      size: typeof payload.size === 'number' ? payload.size : undefined,
      name: shortText(payload.name ?? payload.pipeline ?? payload.step),
      status: shortText(payload.status),
    },
    prompt ? { prompts: 1, pasted_tokens: prompt.pasted_tokens, shown_tokens: prompt.shown_tokens } : {},
  );
  if (type !== 'prompt.answered') return;
  const figure = (value: Json | undefined) => (typeof value === 'number' && value > 0 ? value : 0);
  activity.spending.note(tenant, {
    thread: head.id,
    agent: shortText(payload.by_agent) ?? shortText(payload.by) ?? '',
    model: shortText(payload.model) ?? '',
    project: shortText(payload.project) ?? '',
    prompts: 1,
    input_tokens: figure(payload.billed_input),
    cached_input_tokens: figure(payload.billed_cached_input),
    output_tokens: figure(payload.billed_output),
    pasted_tokens: prompt?.pasted_tokens ?? 0,
    shown_tokens: prompt?.shown_tokens ?? 0,
  });
}

function shortText(value: Json | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value.slice(0, 120) : undefined;
}

/** Maximum number of entries read per page. */
const PAGE = 200;
/** Approximate maximum bytes of a page. Parsing more without a pause would block the event loop. */
const PAGE_BYTES = 256 * 1024;
/**
 * Number of work steps (see `WorkMeter`) after which applying events yields to the event loop. These steps
 * take a few milliseconds.
 */
const SLICE_WORK = 1_000_000;

interface SeenEvent {
  readonly seq: number;
  readonly event: StoredEvent;
}

/**
 * Reads the logs of threads and caches the heads of the threads. Every load of a head also reads the log entries that
 * are newer than the cached head.
 */
class Heads {
  readonly #engine: Engine;
  readonly #background: Background;
  readonly #snapshots: Snapshots;
  #saving: Promise<void> = Promise.resolve();
  /** Cached heads, least recently used first. */
  readonly #cache = new Map<ThreadRoot, { head: MutableHead; bytes: number }>();
  #bytes = 0;

  constructor(engine: Engine, background: Background) {
    this.#engine = engine;
    this.#background = background;
    this.#snapshots = new Snapshots(engine);
  }

  /** Returns the current head, including appends of other processes. Returns null for an empty log. */
  async load(root: ThreadRoot): Promise<Head | null> {
    let head = this.#cache.get(root)?.head ?? (await this.nearestSnapshot(root));
    let meter = new WorkMeter();
    for await (const { seq, event } of this.events(root, head.seq, PAGE)) {
      // Skip an entry that a concurrent load has already applied to the same cached head.
      if (seq <= head.seq) continue;
      // A `thread.created` event after other events means that the thread was deleted and created again under
      // the same id. Drop the old head.
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
    this.#cacheHead(root, head);
    return { ...head };
  }

  /**
   * Applies an event that was just appended to the head `before`, and returns the new head. `ready` is the
   * state after the event. Saves a snapshot if one is due.
   */
  appended(before: Head, seq: number, event: StoredEvent, ready: SizedState): Head {
    const cached = this.#cache.get(before.root)?.head;
    if (cached && cached.seq >= seq) return { ...cached };
    const head: MutableHead =
      cached?.seq === before.seq
        ? cached
        : { ...before, refs: before.refs.slice(0, before.totals.artifacts), keys: new Map(before.keys) };
    advance(head, seq, event, { ready });
    this.#cacheHead(before.root, head);
    const after = { ...head };
    if (this.#snapshots.isDue(after)) {
      head.logBytes = 0;
      // Run one save at a time. Otherwise an older snapshot could overwrite a newer one of the same
      // version.
      this.#saving = this.#saving.catch(() => {}).then(() => this.#snapshots.save(after));
      this.#background.run(() => this.#saving);
    }
    return after;
  }

  forget(root: ThreadRoot): void {
    const cached = this.#cache.get(root);
    if (!cached) return;
    this.#bytes -= cached.bytes;
    this.#cache.delete(root);
  }

  /**
   * Returns the head from which the computation of a version starts: the nearest snapshot that is not newer than the
   * version, or an empty head if there is none. Without `version`, uses the newest snapshot.
   */
  async nearestSnapshot(root: ThreadRoot, version = Number.POSITIVE_INFINITY): Promise<MutableHead> {
    const marks = await this.#snapshots.marks(root);
    for (const mark of marks.toReversed()) {
      const head = mark.version <= version ? await this.#snapshots.load(root, mark) : null;
      if (head) return head;
    }
    return emptyHead(root);
  }

  /** Yields the events after a sequence number, up to the event that made the version. */
  async *eventsUpTo(root: ThreadRoot, after: number, version: number): AsyncGenerator<StoredEvent> {
    for await (const { event } of this.events(root, after)) {
      yield event;
      if (makesVersion(event) && (event.payload.version as number) >= version) return;
    }
  }

  /**
   * Yields all events after a sequence number. The first pages are small, so that finding an early version
   * reads little. From the third page on, it yields to the event loop before each page, because some engines
   * answer without yielding.
   */
  async *events(root: ThreadRoot, after: number, first = 32): AsyncGenerator<SeenEvent> {
    let from = after;
    for (let limit = first, pages = 0; ; limit = Math.min(limit * 2, PAGE), pages++) {
      if (pages > 1) await pause(0);
      const page = { after: from, limit, maxBytes: PAGE_BYTES };
      const { entries } = await this.#engine.logs.read(logOf(root), page);
      if (entries.length === 0) return;
      for (const { seq, data } of entries) {
        const event = await this.withOps(fromJson(data));
        yield { seq, event };
        from = seq;
      }
    }
  }

  /**
   * Returns a log position at or before the event with this number, as near as the cached head and the snapshots
   * allow.
   */
  async nearestPosition(root: ThreadRoot, count: number): Promise<{ seq: number; count: number }> {
    const cached = this.#cache.get(root)?.head;
    if (cached && cached.count <= count) return { seq: cached.seq, count: cached.count };
    const marks = await this.#snapshots.marks(root);
    return marks.findLast((mark) => mark.count <= count) ?? { seq: 0, count: 0 };
  }

  /**
   * Returns the event with its operations. Reads the operations from their blob if necessary. If the blob is missing,
   * returns the event without operations.
   */
  async withOps(event: StoredEvent): Promise<StoredEvent> {
    if (event.ops_blob === undefined) return event;
    const found = await this.#engine.blobs.get(event.ops_blob);
    if (!found) return event;
    const { ops_blob: _, ...rest } = event;
    return { ...rest, payload: { ...event.payload, ops: JSON.parse(await readText(found.body)) } };
  }

  #cacheHead(root: ThreadRoot, head: MutableHead): void {
    this.forget(root);
    this.#cache.set(root, { head, bytes: head.bytes });
    this.#bytes += head.bytes;
    for (const [oldest] of this.#cache) {
      if (this.#bytes <= STATE_CACHE_BYTES || oldest === root) break;
      this.forget(oldest);
    }
  }
}

/** Approximate bytes of an artifact reference in a snapshot. */
const REF_BYTES = 32;
/** Approximate bytes of an idempotency key in a snapshot. */
const KEY_BYTES = 100;

/** Position of a snapshot in its thread. */
type SnapshotMark = Pick<Head, 'version' | 'seq' | 'count'>;

/** Content of a snapshot blob: the fields of a head that would otherwise be computed from the first event on. */
interface SnapshotBody extends SnapshotMark, Pick<Head, 'state' | 'totals'> {
  /** Size of the state. Missing in snapshots of older versions of the relay. */
  readonly bytes?: number;
  readonly refs: string[];
  readonly keys: [string, KeyUse][];
}

/**
 * Stores snapshots of heads, so that a version is computed from a snapshot near it. Losing a snapshot does no harm,
 * because the log contains all data.
 */
class Snapshots {
  readonly #engine: Engine;
  readonly #marks: RecordsOf<readonly SnapshotMark[]>;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.#marks = recordsOf(engine.records);
  }

  /**
   * Returns whether a new snapshot is due: the log since the last snapshot is larger than `SNAPSHOT_LOG_BYTES` and
   * larger than a snapshot would be.
   */
  isDue(head: Head): boolean {
    const { bytes, refs, keys } = head;
    return (
      head.logBytes > Math.max(SNAPSHOT_LOG_BYTES, bytes + REF_BYTES * refs.length + KEY_BYTES * keys.size)
    );
  }

  /** Returns the positions of the stored snapshots, oldest first. */
  async marks(root: ThreadRoot): Promise<readonly SnapshotMark[]> {
    return (await this.#marks.get(snapshotsKey(root)))?.value ?? [];
  }

  /** Loads a snapshot. Returns null if it is missing, damaged or does not match its mark. */
  async load(root: ThreadRoot, mark: SnapshotMark): Promise<MutableHead | null> {
    const body = await this.#read(snapshotBlob(root, mark.version));
    if (!body) return null;
    if (body.seq !== mark.seq || body.state.thread_id !== idOf(root)) return null;
    // Snapshots of older versions of the relay do not count prompts. Compute the head from the log instead.
    if (body.totals.prompts === undefined) return null;
    const { version, seq, count, state, totals, refs } = body;
    const bytes = body.bytes ?? jsonBytes(state);
    return { ...emptyHead(root), version, seq, count, state, bytes, totals, refs, keys: new Map(body.keys) };
  }

  /** Reads a snapshot. Returns null if it is missing or damaged. */
  async #read(key: string): Promise<SnapshotBody | null> {
    try {
      const found = await this.#engine.blobs.get(key);
      return found && JSON.parse(await readText(found.body));
    } catch (error) {
      if (isRelayError(error, 'store_damaged')) return null;
      throw error;
    }
  }

  /**
   * Saves a snapshot. The blob is written before its mark. A mark without a blob is skipped, and a blob without a mark
   * is overwritten later.
   */
  async save(head: Head): Promise<void> {
    const { root, version, seq, count, state, bytes, totals } = head;
    // Copy the references, because the cached head keeps growing during the write.
    const refs = head.refs.slice(0, totals.artifacts);
    const body: SnapshotBody = { version, seq, count, state, bytes, totals, refs, keys: [...head.keys] };
    await this.#engine.blobs.put(snapshotBlob(root, version), new TextEncoder().encode(JSON.stringify(body)));
    const dropped = await compareAndSet('the list of snapshots', async () => {
      const stored = await this.#marks.get(snapshotsKey(root));
      const before = stored?.value ?? [];
      if (before.some((mark) => mark.version === version && mark.seq >= seq)) return [];
      // If the version already has a mark, replace it. The old snapshot lacks the newest events, which made no
      // version.
      const others = before.filter((mark) => mark.version !== version);
      const marks = [...others, { version, seq, count }].sort((a, b) => a.version - b.version);
      const keptMarks = marks.length > SNAPSHOTS ? thinOut(marks) : marks;
      const expect = stored ? stored.revision : 'absent';
      if ((await this.#marks.put(snapshotsKey(root), keptMarks, { expect })) === null) return null;
      return marks.filter((mark) => !keptMarks.includes(mark));
    });
    for (const mark of dropped) await this.#engine.blobs.delete(snapshotBlob(root, mark.version));
  }
}

/** Returns every second mark, always including the newest. */
function thinOut(marks: readonly SnapshotMark[]): SnapshotMark[] {
  return marks.filter((_, i) => (marks.length - 1 - i) % 2 === 0);
}
