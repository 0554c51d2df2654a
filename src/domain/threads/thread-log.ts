import { RelayError } from '../../base/errors.ts';
import { isUuid, toHex } from '../../base/ids.ts';
import type { Json } from '../../base/json.ts';
import type { ActivityKind } from '../../contract/activity.ts';
import { reaches } from '../../contract/authorize.ts';
import type { Caller } from '../../contract/caller.ts';
import type { ThreadEvent, ThreadsApi } from '../../contract/threads.ts';
import { compareAndSet, type Staged } from '../../kernel/records.ts';
import { Background } from '../background.ts';
import type { Deps } from '../deps.ts';
import { asJson, type RecordsOf, recordsOf } from '../records.ts';
import type { Storage } from '../usage/storage.ts';
import { ArtifactIndex } from './artifact-index.ts';
import { makesVersion, type StoredEvent, storedBytes, toWire } from './event.ts';
import { emptyHead, type Head, promptFigures, stateAfter } from './fold.ts';
import type { FoldAnswers, FoldKind } from './fold-job.ts';
import { Heads } from './heads.ts';
import { idOf, logOf, metaKey, opsBlob, rootsFor, type ThreadRoot } from './keys.ts';
import { bytesOf } from './state.ts';
import { markChanged } from './tenant-totals.ts';
import { TokenLedger } from './token-ledger.ts';

/** The record of a thread, in addition to its log. Without it the thread does not exist. */
export interface ThreadMeta {
  readonly tenant: string;
  readonly name: string;
  readonly created: number;
  readonly by: string;
  /** The id of the key that made it; absent in threads made before 0.3. */
  readonly key?: string;
  /** When it ends; its record expires then, and with it the thread. */
  readonly expires?: number;
}

/** A thread that is there: its record, and where it is kept. */
interface FoundThread extends ThreadMeta {
  readonly root: ThreadRoot;
}

/** What a commit is to do with the head it found: append an event, or nothing because it is done already. */
type Plan<T> =
  | { readonly done: T }
  | {
      readonly event: StoredEvent;
      /** What comes to last with it. */
      readonly with?: readonly Staged[];
      readonly answer: (after: Head) => T;
    };

/** Keeps something that is derived from the logs up to date. None of its methods is awaited. */
interface Follower {
  /** Before every append. It must be quick, and do no harm where the append never comes. */
  before?(head: Head): void;
  /** After every append. */
  appended?(head: Head, event: StoredEvent): void;
  /** After everything of a thread is gone. */
  removed?(root: ThreadRoot): void;
}

/** What stands behind a verb of threads: a function of the log, the caller and the arguments of the verb. */
export type ThreadVerb<M extends keyof ThreadsApi> = (
  log: ThreadLog,
  caller: Caller,
  ...args: Parameters<ThreadsApi[M]>
) => ReturnType<ThreadsApi[M]>;

/** Event types that are written even when the tenant is over its storage quota. */
const ALWAYS: ReadonlySet<string> = new Set(['artifact.pulled', 'artifact.deleted', 'prompt.rendered']);

/** The one way into a thread's log: every append is made against the head it was thought out for. */
export class ThreadLog {
  readonly deps: Deps;
  readonly background: Background;
  readonly heads: Heads;
  readonly storage: Storage;
  readonly followers: Follower[] = [];
  /** The records of threads, under `metaKey`. */
  readonly metas: RecordsOf<ThreadMeta>;
  /** Within one process, writers of a thread queue up instead of racing each other. */
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

  /** Marks a thread as changed, for the totals of its tenant. */
  changed(tenant: string, id: string): Promise<void> {
    return markChanged(this.deps, tenant, id);
  }

  /** Resolves once everything that nobody waited for is done. */
  settle(): Promise<void> {
    return this.#ledger ? this.#ledger.flush() : this.background.settle();
  }

  /** The store is about to be closed: what takes long stops soon, and the next process continues it. */
  closing(): void {
    this.#index?.closing();
  }

  /** The thread's own record. A missing thread and one of another tenant give the same error. */
  async meta(caller: Caller, id: string): Promise<FoundThread> {
    const shown = caller.thread === undefined || caller.thread === id;
    const found = shown ? await this.find(caller.tenant, id) : null;
    if (!found || !reaches(caller, { by: found.key })) throw noThread(id);
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

  /** The tenant whose thread is kept there; undefined where there is none. */
  async ownerOf(root: ThreadRoot): Promise<string | undefined> {
    return (await this.metas.get(metaKey(root)))?.value.tenant;
  }

  async head(caller: Caller, id: string): Promise<Head> {
    return this.#load((await this.meta(caller, id)).root);
  }

  async #load(root: ThreadRoot): Promise<Head> {
    const head = await this.heads.load(root);
    if (!head) throw noThread(idOf(root));
    return head;
  }

  /** Folds the log up to the versions, which exist, where that does not hold up others; `whole` begins without a snapshot. */
  async fold<K extends FoldKind>(
    { tenant }: Pick<Caller, 'tenant'>,
    root: ThreadRoot,
    kind: K,
    versions: readonly number[],
    o: { whole?: true } = {},
  ): Promise<FoldAnswers[K]> {
    const start = o.whole ? emptyHead(root) : await this.heads.near(root, Math.min(...versions));
    const events = this.heads.upTo(root, start.seq, Math.max(...versions));
    return this.deps.texts.fold({ kind, start, versions }, events, { tenant });
  }

  /** Runs `plan` against the head until its append is the next one. */
  async commit<T>(caller: Caller, id: string, plan: (head: Head) => Plan<T> | Promise<Plan<T>>): Promise<T> {
    return this.#inTurn(`${caller.tenant}/${id}`, async () => {
      const { root } = await this.meta(caller, id);
      const { answer } = await compareAndSet(`thread ${id}`, async () => {
        const head = await this.#load(root);
        const planned = await plan(head);
        if ('done' in planned) return { answer: planned.done };
        const after = await this.append(caller.tenant, head, planned.event, { with: planned.with });
        return after && { answer: planned.answer(after) };
      });
      return answer;
    });
  }

  /** Null when another append came first. What is taken over from elsewhere is `old`, and no news. Throws, and changes nothing, where the event leads to no state there can be. */
  async append(
    tenant: string,
    head: Head,
    event: StoredEvent,
    o: { old?: true; with?: readonly Staged[] } = {},
  ): Promise<Head | null> {
    const { blobs, logs } = this.deps.engine;
    const ready = stateAfter(head, event);
    const bytes = storedBytes(event);
    // What is taken over was admitted as a whole.
    if (!o.old && !ALWAYS.has(event.type)) await this.storage.admit(tenant, bytes);
    const stored = await this.#fitting(head.root, event);
    for (const follower of this.followers) follower.before?.(head);
    const frees = event.type === 'artifact.deleted';
    const options = { expectSeq: head.seq, with: o.with, frees };
    const write = () => logs.append(logOf(head.root), asJson(stored), options);
    const [seq] = await Promise.all([
      this.storage.counted(tenant, bytes, write, (found) => found !== null, frees),
      // What is taken over is told of when it becomes a thread.
      o.old ? null : this.changed(tenant, head.id),
    ]);
    if (seq === null) {
      if (stored.ops_blob !== undefined) await blobs.delete(stored.ops_blob);
      return null;
    }
    const after = this.heads.appended(head, seq, event, ready);
    this.announce(after, event);
    if (!o.old) noteEvent(this.deps, tenant, after, event);
    return after;
  }

  announce(head: Head, event: StoredEvent): void {
    for (const follower of this.followers) follower.appended?.(head, event);
  }

  /** Appends an event that changes no state. */
  note(caller: Caller, id: string, event: StoredEvent): Promise<ThreadEvent> {
    return this.commit(caller, id, (head) => ({
      event,
      answer: () => toWire(head.id, head.count + 1, event),
    }));
  }

  /** Operations that the engine's entries cannot hold go into a blob first; one without an entry is swept up. */
  async #fitting(root: ThreadRoot, event: StoredEvent): Promise<StoredEvent> {
    const { engine, env } = this.deps;
    if (event.payload.ops === undefined || bytesOf(asJson(event)) <= engine.limits.entryBytes) return event;
    const { ops, ...payload } = event.payload;
    const key = opsBlob(root, toHex(env.randomBytes(8)));
    await engine.blobs.put(key, new TextEncoder().encode(JSON.stringify(ops)));
    return { ...event, payload, ops_blob: key };
  }

  async #inTurn<T>(thread: string, work: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(thread);
    const mine = before ? before.then(work, work) : work();
    // The next writer waits for the end of this one; only its own caller is told of a failure.
    const settled = mine.catch(() => {});
    this.#turns.set(thread, settled);
    try {
      return await mine;
    } finally {
      if (this.#turns.get(thread) === settled) this.#turns.delete(thread);
    }
  }
}

function noThread(id: string): RelayError {
  return new RelayError('not_found', {
    what: `thread ${id.slice(0, 64)}`,
    hint: 'See relay runs for the threads there are.',
  });
}

/** Events that are told as what they are; all others are told as an event of some type. */
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
 * Tells of an event that was appended to a thread. Names are cut: events of clients may say anything. A look that is not counted
 * is in the thread's own log and no news to anybody: pages that show what happens would fill it by being looked at.
 */
function noteEvent({ activity }: Deps, tenant: string, head: Head, event: StoredEvent): void {
  const { type, payload } = event;
  if (type === 'artifact.pulled' && payload.counted === false) return;
  const kind = ACTIVITY_KINDS[type] ?? 'thread.event';
  const name = text(payload.name ?? payload.pipeline ?? payload.step);
  const status = text(payload.status);
  const prompt = promptFigures(event);
  activity.note(
    tenant,
    {
      kind,
      by: text(payload.by) ?? 'relay',
      thread: head.id,
      event: String(head.count),
      type,
      ...(makesVersion(event) ? { version: head.version } : {}),
      ...(typeof payload.ref === 'string' ? { artifact: text(payload.ref) } : {}),
      ...(typeof payload.size === 'number' ? { size: payload.size } : {}),
      ...(name === undefined ? {} : { name }),
      ...(status === undefined ? {} : { status }),
    },
    prompt ? { prompts: 1, pasted_tokens: prompt.pasted_tokens, shown_tokens: prompt.shown_tokens } : {},
  );
}

function text(value: Json | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value.slice(0, 120) : undefined;
}
