import { isRelayError, RelayError } from '../../base/errors.ts';
import { isUuid, toHex } from '../../base/ids.ts';
import type { Caller } from '../../contract/caller.ts';
import type { ThreadEvent } from '../../contract/threads/answers.ts';
import { compareAndSet } from '../../kernel/compare-and-set.ts';
import { Background } from '../background.ts';
import type { Deps } from '../deps.ts';
import { asJson, type RecordsOf, recordsOf } from '../records.ts';
import { type StoredEvent, toWire } from './event.ts';
import type { Head } from './fold.ts';
import { Heads } from './heads.ts';
import { logOf, metaKey, opsBlob } from './keys.ts';
import { Snapshots } from './snapshots.ts';
import { bytesOf, type Sized } from './state.ts';

/** The record of a thread, in addition to its log. Without it the thread does not exist. */
export interface ThreadMeta {
  readonly tenant: string;
  readonly name: string;
  readonly created: number;
  readonly by: string;
}

/** What a commit is to do with the head it found: append an event, or nothing because it is done already. */
export type Plan<T> =
  | { readonly done: T }
  | { readonly event: StoredEvent; readonly ready?: Sized; readonly answer: (after: Head) => T };

/** Called after every append, so that what is derived from the log can follow. */
export type Follower = (head: Head, event: StoredEvent) => void;

/** The one way into a thread's log: every append is made against the head it was thought out for. */
export class ThreadLog {
  readonly heads: Heads;
  readonly background = new Background();
  /** The records of threads, under `metaKey`. */
  readonly metas: RecordsOf<ThreadMeta>;
  readonly #deps: Deps;
  readonly #snapshots: Snapshots;
  /** Within one process, writers of a thread queue up instead of racing each other. */
  readonly #turns = new Map<string, Promise<unknown>>();
  readonly #followers: Follower[] = [];
  readonly #preceding: ((id: string) => void)[] = [];

  constructor(deps: Deps) {
    this.#deps = deps;
    this.metas = recordsOf(deps.engine.records);
    this.#snapshots = new Snapshots(deps.engine);
    this.heads = new Heads(deps.engine, this.#snapshots);
  }

  /**
   * `before` is called before every append and not awaited. It must be quick, and do no harm where the append never comes.
   */
  precede(before: (id: string) => void): void {
    this.#preceding.push(before);
  }

  follow(follower: Follower): void {
    this.#followers.push(follower);
  }

  /** The thread's own record. A missing thread and one of another tenant give the same error. */
  async meta(caller: Caller, id: string): Promise<ThreadMeta> {
    const stored = isUuid(id) ? await this.metas.get(metaKey(id.toLowerCase())) : null;
    const meta = stored?.value;
    if (meta?.tenant !== caller.tenant) throw noThread(id);
    return meta;
  }

  /** Whether there is such a thread, of whichever tenant. */
  async exists(id: string): Promise<boolean> {
    return (await this.metas.get(metaKey(id))) !== null;
  }

  async head(caller: Caller, id: string): Promise<Head> {
    await this.meta(caller, id);
    return this.#load(id.toLowerCase());
  }

  async #load(id: string): Promise<Head> {
    const head = await this.heads.load(id);
    if (!head) throw noThread(id);
    return head;
  }

  /** Runs `plan` against the head until its append is the next one. */
  async commit<T>(
    caller: Caller,
    rawId: string,
    plan: (head: Head) => Plan<T> | Promise<Plan<T>>,
  ): Promise<T> {
    const id = rawId.toLowerCase();
    return this.#inTurn(id, async () => {
      await this.meta(caller, id);
      return patiently(() =>
        compareAndSet(`thread ${id}`, async () => {
          const head = await this.#load(id);
          const planned = await plan(head);
          if ('done' in planned) return { answer: planned.done };
          const after = await this.append(head, planned.event, planned.ready);
          return after && { answer: planned.answer(after) };
        }),
      ).then(({ answer }) => answer);
    });
  }

  /** Null when another append came first. */
  async append(head: Head, event: StoredEvent, ready?: Sized): Promise<Head | null> {
    const { logs } = this.#deps.engine;
    const stored = await this.#fitting(head.id, event);
    for (const before of this.#preceding) before(head.id);
    const seq = await logs.append(logOf(head.id), asJson(stored), { expectSeq: head.seq });
    if (seq === null) {
      if (stored.ops_blob !== undefined) await this.#deps.engine.blobs.delete(stored.ops_blob);
      return null;
    }
    const after = this.heads.appended(head, seq, event, ready);
    if (this.#snapshots.isDue(after)) this.#snapshot(after);
    this.announce(after, event);
    return after;
  }

  /** Calls the followers. */
  announce(head: Head, event: StoredEvent): void {
    for (const follower of this.#followers) follower(head, event);
  }

  /** Appends an event that changes no state. */
  note(caller: Caller, id: string, make: (head: Head) => StoredEvent): Promise<ThreadEvent> {
    return this.commit(caller, id, (head) => {
      const event = make(head);
      return { event, answer: () => toWire(head.id, head.count + 1, event) };
    });
  }

  #snapshot(head: Head): void {
    this.heads.snapshotTaken(head.id, head.logBytes);
    this.background.run(() => this.#snapshots.save(head));
  }

  /** Operations that the engine's entries cannot hold go into a blob first; one without an entry is swept up. */
  async #fitting(id: string, event: StoredEvent): Promise<StoredEvent> {
    const { engine, env } = this.#deps;
    if (event.payload.ops === undefined || bytesOf(asJson(event)) <= engine.limits.entryBytes) return event;
    const { ops, ...payload } = event.payload;
    const key = opsBlob(id, toHex(env.randomBytes(8)));
    await engine.blobs.put(key, new TextEncoder().encode(JSON.stringify(ops)));
    return { ...event, payload, ops_blob: key };
  }

  async #inTurn<T>(id: string, work: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(id);
    const mine = before ? before.then(work, work) : work();
    const settled = mine.catch(() => {});
    this.#turns.set(id, settled);
    try {
      return await mine;
    } finally {
      if (this.#turns.get(id) === settled) this.#turns.delete(id);
    }
  }
}

/** Writers of other processes may win many rounds in a row; a patch without a condition is to get in all the same. */
const PATIENCE = 8;

async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (let left = PATIENCE; ; left--) {
    try {
      return await work();
    } catch (error) {
      if (left === 0 || !isRelayError(error, 'busy')) throw error;
    }
  }
}

function noThread(id: string): RelayError {
  return new RelayError('not_found', {
    what: `thread ${id.slice(0, 64)}`,
    hint: 'See relay runs for the threads there are.',
  });
}
