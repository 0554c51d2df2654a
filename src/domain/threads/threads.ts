import { RelayError } from '../../base/errors.ts';
import { sha256Hex } from '../../base/hash.ts';
import { isUuid, uuid } from '../../base/ids.ts';
import type { Json, JsonObject } from '../../base/json.ts';
import { PAGE_ITEMS, PATCH_OPS, THREAD_NAME_CHARS } from '../../base/limits.ts';
import type { Caller } from '../../contract/caller.ts';
import type {
  DiffAnswer,
  PatchAnswer,
  PatchInput,
  RevertInput,
  ThreadCreated,
  ThreadEvent,
  ThreadInfo,
  ThreadItem,
} from '../../contract/threads/answers.ts';
import type { State } from '../../contract/threads/state.ts';
import type { PatchOp } from '../../formats/json-patch/apply.ts';
import { diffJson } from '../../formats/json-patch/diff.ts';
import { jsonEqual } from '../../formats/json-patch/equal.ts';
import type { Deps } from '../deps.ts';
import { asJson, type RecordsOf, recordsOf } from '../records.ts';
import { isOwnType, type StoredEvent } from './event.ts';
import { emptyHead, type Head, type Repeatable, repeatable, stampFor } from './fold.ts';
import { hopsKey, listKey, listPrefix, logOf, metaKey } from './keys.ts';
import { isoTime, patchState } from './state.ts';
import type { ThreadLog, ThreadMeta } from './thread-log.ts';
import { parseVersion, versionRef } from './version.ts';

/** A thread in the list of its tenant. */
interface ListedThread {
  readonly name: string;
  readonly created: number;
}

/** Threads and their states. */
export class Threads {
  readonly #deps: Deps;
  readonly #log: ThreadLog;
  readonly #listed: RecordsOf<ListedThread>;
  /** Finishes the deletion of a thread that a crash left half done. */
  readonly #cleanUp: (tenant: string, id: string) => Promise<void>;

  constructor(deps: Deps, log: ThreadLog, cleanUp: (tenant: string, id: string) => Promise<void>) {
    this.#deps = deps;
    this.#log = log;
    this.#listed = recordsOf(deps.engine.records);
    this.#cleanUp = cleanUp;
  }

  /** The log's first entry is the commit point; records without one are passed over. */
  async create(caller: Caller, o: { name?: string } = {}): Promise<ThreadCreated> {
    const { env } = this.#deps;
    const name = checkName(o.name ?? '');
    const id = uuid(env);
    const created = env.now();
    await this.introduce(id, { tenant: caller.tenant, name, created, by: caller.name });
    const event: StoredEvent = {
      type: 'thread.created',
      at: created,
      payload: { version: 1, name, by: caller.name },
    };
    await this.#log.append(emptyHead(id), event);
    return { thread_id: id, name, state_ref: versionRef(1), created_at: isoTime(created) };
  }

  /** Makes the records by which a thread is known, ahead of its log. */
  async introduce(id: string, meta: ThreadMeta): Promise<void> {
    const { name, created, tenant } = meta;
    await this.#log.metas.put(metaKey(id), meta);
    await this.#listed.put(listKey(tenant, id, created), { name, created });
  }

  /** Newest first. With `prefix`, only those whose id begins with it. */
  async list(
    caller: Caller,
    o: { limit?: number; after?: string; prefix?: string } = {},
  ): Promise<{ threads: ThreadItem[]; next?: string }> {
    const prefix = listPrefix(caller.tenant);
    const limit = o.limit ?? PAGE_ITEMS;
    const threads: ThreadItem[] = [];
    let after = o.after === undefined ? undefined : prefix + o.after;
    for (;;) {
      const page = await this.#listed.list(prefix, { after, limit: PAGE_ITEMS });
      for (const { key, value } of page.items) {
        const id = key.slice(key.lastIndexOf('.') + 1);
        if (o.prefix !== undefined && !id.startsWith(o.prefix.toLowerCase())) continue;
        const item = await this.#item(caller, id, value);
        if (!item) continue;
        threads.push(item);
        if (threads.length === limit) return { threads, next: key.slice(prefix.length) };
      }
      if (page.next === undefined) return { threads };
      after = page.next;
    }
  }

  async get(caller: Caller, id: string): Promise<ThreadInfo> {
    const meta = await this.#log.meta(caller, id);
    const head = await this.#log.head(caller, id);
    const item = { thread_id: head.id, name: meta.name, created_at: isoTime(meta.created) };
    const counts = {
      state_version: head.version,
      artifact_count: head.totals.artifacts,
      event_count: head.count,
    };
    return { ...item, hop_count: await this.#hops(id), ...counts };
  }

  async state(caller: Caller, id: string, o: { at?: string | number } = {}): Promise<State> {
    const head = await this.#log.head(caller, id);
    if (o.at === undefined) return head.state;
    return (await this.#atVersions(head, [parseVersion(o.at)]))[0]!.state;
  }

  /**
   * Without `if_match` concurrent patches all succeed, in some order; with it a stale one is refused. What is refused
   * changes nothing.
   */
  async patch(caller: Caller, id: string, input: PatchInput): Promise<PatchAnswer> {
    // A copy that nobody else holds: what comes in becomes part of the state.
    const ops = JSON.parse(JSON.stringify(input.ops ?? null)) as Json;
    const expected = input.if_match === undefined ? null : parseVersion(input.if_match);
    const retry = await repeatable('patch', input.idempotency_key, () => sha256Hex(JSON.stringify(ops)));
    return this.#log.commit(caller, id, (head) => {
      const before = retry?.seen(head);
      if (before) return { done: patchAnswer(before.version, before.at) };
      checkVersion(head, expected);
      return this.#planPatch(head, { by: caller.name, ops }, retry);
    });
  }

  /**
   * A new version that equals an old one, but for what the relay keeps itself; the versions between them stay. Where the
   * state is like that already, nothing changes.
   */
  async revert(caller: Caller, id: string, input: RevertInput): Promise<PatchAnswer> {
    const to = parseVersion(input.to);
    const expected = input.if_match === undefined ? null : parseVersion(input.if_match);
    const retry = await repeatable('revert', input.idempotency_key, () => sha256Hex(versionRef(to)));
    return this.#log.commit<PatchAnswer>(caller, id, async (head) => {
      const before = retry?.seen(head);
      if (before) return { done: patchAnswer(before.version, before.at) };
      checkVersion(head, expected);
      const [old] = await this.#atVersions(head, [to]);
      const ops = wayBack(comparable(head.state), comparable(old!.state));
      if (ops.length === 0) return { done: patchAnswer(head.version, Date.parse(head.state.updated_at)) };
      return this.#planPatch(head, { by: caller.name, ops: asJson(ops), reverted_to: versionRef(to) }, retry);
    });
  }

  #planPatch(
    head: Head,
    payload: { by: string; ops: Json; reverted_to?: string },
    retry?: Repeatable | null,
  ) {
    const version = head.version + 1;
    const at = this.#deps.env.now();
    const event: StoredEvent = {
      type: 'state.patch.applied',
      at,
      payload: { version, ...payload },
      ...retry?.mark,
    };
    const ready = patchState(head, payload.ops, stampFor(head, event));
    return { event, ready, answer: () => patchAnswer(version, at) };
  }

  /**
   * The way from one version to another as a patch that could be sent: what the relay keeps itself (version, time,
   * metrics) is left out.
   */
  async diff(
    caller: Caller,
    id: string,
    o: { from: string | number; to?: string | number },
  ): Promise<DiffAnswer> {
    const head = await this.#log.head(caller, id);
    const from = parseVersion(o.from);
    const to = o.to === undefined ? head.version : parseVersion(o.to);
    const [low, high] = await this.#atVersions(head, [Math.min(from, to), Math.max(from, to)]);
    const [before, after] = from <= to ? [low!, high!] : [high!, low!];
    const ops = diffJson(comparable(before.state), comparable(after.state));
    return { from: versionRef(from), to: versionRef(to), ops };
  }

  /** Appends an event of somebody's own kind; it does not touch the state. */
  async record(caller: Caller, id: string, type: string, payload: JsonObject = {}): Promise<ThreadEvent> {
    if (!/^[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)+$/.test(type) || type.length > 64 || isOwnType(type)) {
      throw new RelayError('bad_request', {
        what: 'The type of an event is two or more words with dots between, and none that the relay itself writes.',
      });
    }
    const event: StoredEvent = { type, at: this.#deps.env.now(), payload: { ...payload, by: caller.name } };
    return this.#log.note(caller, id, () => event);
  }

  /** Folds the whole log again, without snapshots or memory, and says whether that gives the state there is. */
  async replay(
    caller: Caller,
    id: string,
  ): Promise<{ version: number; events: number; sha256: string; matches: boolean }> {
    const head = await this.#log.head(caller, id);
    const [again] = await this.#log.heads.at(head.id, [head.version], { whole: true });
    const text = JSON.stringify(again!.state);
    const matches = text === JSON.stringify(head.state);
    return { version: head.version, events: head.count, sha256: await sha256Hex(text), matches };
  }

  /** The versions are in rising order. */
  async #atVersions(head: Head, versions: readonly number[]): Promise<Head[]> {
    const unknown = versions.find((version) => version < 1 || version > head.version);
    if (unknown !== undefined) {
      throw new RelayError('not_found', {
        what: `version ${unknown} of thread ${head.id}`,
        hint: `The state is at ${versionRef(head.version)}; every version from v1 on can be read.`,
      });
    }
    if (versions[0] === head.version) return versions.map(() => head);
    return this.#log.heads.at(head.id, versions);
  }

  async #item(caller: Caller, id: string, known: ListedThread): Promise<ThreadItem | null> {
    const { engine } = this.#deps;
    if (!isUuid(id)) return null;
    if (!(await this.#log.exists(id))) {
      this.#log.background.run(() => this.#cleanUp(caller.tenant, id));
      return null;
    }
    if ((await engine.logs.info(logOf(id))).count === 0) return null;
    const { name, created } = known;
    return { thread_id: id, name, created_at: isoTime(created), hop_count: await this.#hops(id) };
  }

  async #hops(id: string): Promise<number> {
    const value = (await this.#deps.engine.records.get(hopsKey(id)))?.value;
    return typeof value === 'number' ? value : 0;
  }
}

/** The differences, or where they are more than a patch may hold, the fields that differ as wholes. */
function wayBack(from: Json, to: Json): PatchOp[] {
  const ops = diffJson(from, to);
  if (ops.length <= PATCH_OPS) return ops;
  const [before, after] = [from as JsonObject, to as JsonObject];
  return Object.keys({ ...before, ...after }).flatMap((field): PatchOp[] => {
    const path = `/${field}`;
    if (jsonEqual(before[field] ?? null, after[field] ?? null)) return [];
    if (after[field] === undefined) return [{ op: 'remove', path }];
    return [{ op: 'add', path, value: after[field] }];
  });
}

function checkVersion({ version }: Head, expected: number | null): void {
  if (expected === null || expected === version) return;
  throw new RelayError('version_conflict', { current: versionRef(version), expected: versionRef(expected) });
}

function comparable(state: State): Json {
  const { version: _, updated_at: __, metrics: ___, ...rest } = state;
  return asJson(rest);
}

function patchAnswer(version: number, at: number): PatchAnswer {
  return { version, updated_at: isoTime(at), state_ref: versionRef(version) };
}

export function checkName(name: string): string {
  if ([...name].length > THREAD_NAME_CHARS) {
    throw new RelayError('bad_request', { what: `A name has at most ${THREAD_NAME_CHARS} characters.` });
  }
  return name;
}
