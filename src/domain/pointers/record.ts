import { badRequest, RelayError } from '../../base/errors.ts';
import { sha256Hex } from '../../base/hash.ts';
import { checkIdempotencyKey, isUuid } from '../../base/ids.ts';
import {
  POINTER_SEARCH_CHARS,
  POINTERS_LISTED,
  PULL_LOOKS,
  PULL_RETRIES,
  PULL_RETRY_WINDOW_MS,
} from '../../base/limits.ts';
import type { TokenCount } from '../../base/tokens.ts';
import { authorize, missingScope, reaches } from '../../contract/authorize.ts';
import { type Caller, type CallerAt, isAnonymous, sentBy } from '../../contract/caller.ts';
import { OUTPUT } from '../../contract/outputs.ts';
import { handleOf, parseHandle, pointerUrl } from '../../contract/pointer-url.ts';
import {
  type ListedPointer,
  type Peeked,
  type PointerPage,
  type PointerQuery,
  type PullOptions,
  type Pushed,
  type PushOptions,
  pointers,
} from '../../contract/pointers.ts';
import { FERNET_CONTENT_TYPE } from '../../formats/fernet.ts';
import type { Engine } from '../../kernel/engine.ts';
import { compareAndSet } from '../../kernel/records.ts';
import type { Deps } from '../deps.ts';
import { checkCount } from '../names.ts';
import { allRecords, lookUpAll, type RecordOf, type RecordsOf, recordsOf } from '../records.ts';
import { wordFilter } from '../word-filter.ts';
import type { CheckedOptions } from './push-options.ts';

/** Record of a pointer: everything about the pointer except its payload. */
export interface PointerRecord
  extends Pick<
    Peeked,
    'from' | 'agent' | 'size' | 'sha256' | 'text' | 'metadata' | 'channel' | 'max_pulls' | 'visibility'
  > {
  readonly tenant: string;
  readonly by: string;
  /**
   * Key of the blob with the payload. Each attempt to push has its own blob, so that two concurrent pushes
   * never share one.
   */
  readonly blob: string;
  readonly type: string | null;
  readonly created: number;
  /** Expiry in ms that the sender or the last renewal asked for. The pointer exists at least until then. */
  readonly expires: number;
  /**
   * Later expiry in ms, if the pointer's message is work for a group. The pointer exists until this time,
   * or until the work is done.
   */
  readonly kept?: number;
  readonly tokens: TokenCount | null;
  /** Fingerprint of the request if it had an Idempotency-Key, otherwise null. */
  readonly fingerprint: string | null;
  readonly sealed_key: string | null;
  readonly key_check?: string;
  /** Number of the pointer's handle. Pointers of earlier versions have none. */
  readonly handle?: number;
}

export const recordKey = (id: string) => `ptr.${id}/meta`;
export const pullsKey = (id: string) => `ptr.${id}/pulls`;
const retryKey = (id: string, hash: string) => `ptr.${id}/retry/${hash}`;
const lookKey = (id: string, hash: string) => `ptr.${id}/look/${hash}`;
export const blobKey = (id: string, attempt: string) => `ptr.${id}/${attempt}`;

/** What is known about a push when its body has arrived completely. */
export interface SettledPush {
  readonly options: CheckedOptions;
  readonly created: number;
  readonly keepMs: number;
  readonly handle: number;
}

export function newRecord(
  caller: Caller,
  { options, created, keepMs, handle }: SettledPush,
  body: Pick<PointerRecord, 'blob' | 'size' | 'sha256' | 'text' | 'tokens' | 'fingerprint'>,
): PointerRecord {
  const { content_type: type, metadata, channel, max_pulls, visibility, sealed_key, key_check } = options;
  return {
    tenant: caller.tenant,
    by: caller.keyId,
    ...sentBy(caller),
    type,
    metadata,
    channel,
    max_pulls,
    visibility,
    sealed_key,
    ...body,
    created,
    handle,
    expires: created + options.ttlMs,
    ...(keepMs > options.ttlMs ? { kept: created + keepMs } : {}),
    ...(key_check === null ? {} : { key_check }),
  };
}

/** Returns whether the metadata names a task, so that the push is the result of this task. */
export function isResult({ metadata }: Pick<PushOptions, 'metadata'>): boolean {
  return metadata?.task_id !== undefined;
}

export function keptUntil(record: PointerRecord): number {
  return record.kept ?? record.expires;
}

export function notFound(): RelayError {
  return new RelayError('not_found', { what: 'this pointer' });
}

export interface Loaded {
  readonly id: string;
  readonly record: PointerRecord;
  readonly revision: number;
}

/**
 * Finds the records of pointers, without the payloads. For a missing, expired or malformed pointer and for
 * a pointer of another tenant, a caller gets the same answer.
 */
export class PointerLookup {
  readonly #records: RecordsOf<PointerRecord>;
  readonly #listed: RecordsOf<Listed>;

  constructor(deps: Pick<Deps, 'engine'>) {
    this.#records = recordsOf(deps.engine.records);
    this.#listed = recordsOf(deps.engine.records);
  }

  /**
   * Returns the record of a pointer. Returns null if the pointer does not exist, has expired or was revoked.
   */
  async find(id: string): Promise<PointerRecord | null> {
    return (await this.#records.get(recordKey(id)))?.value ?? null;
  }

  /**
   * Returns a pointer that the caller may read. Everyone may read a pointer with the visibility `link`. Only
   * API keys of the same tenant with the scope `pull` may read any other pointer.
   */
  async readable(caller: Caller, id: string): Promise<Loaded> {
    const loaded = await this.#find(caller, id);
    if (loaded?.record.visibility === 'link') return loaded;
    if (!isAnonymous(caller) && !caller.scopes.includes('pull')) throw missingScope(caller, 'pull');
    return reached(caller, loaded);
  }

  /**
   * Returns a pointer of the caller's tenant that the caller's API key may access. For other callers the
   * pointer does not exist.
   */
  async own(caller: Caller, id: string): Promise<Loaded> {
    return reached(caller, await this.#find(caller, id));
  }

  /**
   * Returns the id of a pointer that the caller names by its id or by its handle. A handle grants no access:
   * to resolve it, the caller needs the right to list pointers.
   */
  async idOf(caller: Caller, name: string): Promise<string> {
    const handle = parseHandle(name);
    if (handle === null) return name.toLowerCase();
    authorize(caller, pointers.list);
    const place = listPlace({ tenant: caller.tenant, created: 0, handle });
    const [entry] = (await this.#listed.list(place, { limit: 1 })).items;
    if (entry && reaches(caller, entry.value)) return entry.key.slice(place.length);
    throw new RelayError('not_found', {
      what: name,
      hint: 'A handle names a pointer of one tenant on one relay. Check the number and the relay, or use the URL of the pointer. If it has expired, ask its sender to push again.',
    });
  }

  async #find(caller: Caller, name: string): Promise<Loaded | null> {
    const id = await this.idOf(caller, name);
    if (!isUuid(id)) return null;
    const stored = await this.#records.get(recordKey(id));
    return stored && { id, record: stored.value, revision: stored.revision };
  }
}

function reached(caller: Caller, loaded: Loaded | null): Loaded {
  if (loaded?.record.tenant === caller.tenant && reaches(caller, loaded.record)) return loaded;
  throw notFound();
}

/**
 * Counts a pull of a pointer with `max_pulls` before the payload is sent. Does nothing for other pointers. Returns true
 * if the pull is a free retry, which is not counted. A free retry has the same caller and the same idempotency key as a
 * counted pull. Up to `PULL_RETRIES` retries are free within `PULL_RETRY_WINDOW_MS` after the counted pull. The pull
 * after them is counted again. `check` runs only for a counted pull. If `check` throws, the pull is not counted.
 *
 * A look (`o.look`) hands out ciphertext from which the client makes an outline, a count or a search. The first look
 * counts as a pull and reserves it for the caller: further looks (at most `PULL_LOOKS` looks in all) and the caller's
 * next pull are free.
 */
export async function countPull(
  { engine: { records }, env }: Deps,
  caller: Caller,
  { id, record }: Loaded,
  o: Pick<PullOptions, 'idempotency_key' | 'look'>,
  check?: () => Promise<void>,
): Promise<boolean> {
  const max = record.max_pulls;
  if (max === null) return false;
  const key = checkIdempotencyKey(o.idempotency_key);
  const lookKey = await heldLook(caller, id);
  if (o.look && lookKey !== null && (await records.get(lookKey))) {
    const looks = await records.add(lookKey, 1, { max: PULL_LOOKS, expiresAt: keptUntil(record) });
    if (looks !== null && looks > 1) return true;
  }
  const who = JSON.stringify([caller.tenant, caller.keyId, key]);
  const tries = key === undefined ? null : retryKey(id, await sha256Hex(who));
  const expiresAt = Math.min(keptUntil(record), env.now() + PULL_RETRY_WINDOW_MS);
  if (tries !== null && (await records.get(tries))) {
    const tried = await records.add(tries, 1, { max: 1 + PULL_RETRIES, expiresAt });
    // The counter of retries may have expired since it was read. Then `tried` is 1, and this pull is not free.
    if (tried !== null && tried > 1) return true;
  }
  const reserved = !o.look && lookKey !== null && (await records.delete(lookKey));
  if (!reserved && (await records.add(pullsKey(id), 1, { max, expiresAt: keptUntil(record) })) === null)
    throw notFound();
  await check?.().catch(async (error) => {
    await records.add(pullsKey(id), -1);
    throw error;
  });
  // Start the counter of retries only after `check`. Otherwise a pull that was rejected could be repeated for
  // free.
  if (tries !== null) await records.put(tries, 1, { expiresAt });
  if (o.look && lookKey !== null) await records.put(lookKey, 1, { expiresAt: keptUntil(record) });
  return false;
}

/** Returns how often the caller can still pull the pointer. Null if its pulls are not limited. */
export async function pullsLeft(
  { engine: { records } }: Deps,
  caller: Caller,
  { id, record }: Loaded,
): Promise<number | null> {
  if (record.max_pulls === null) return null;
  const held = await heldLook(caller, id);
  const reserved = held !== null && (await records.get(held)) !== null;
  const used = Number((await records.get(pullsKey(id)))?.value ?? 0);
  return Math.max(0, record.max_pulls - used) + (reserved ? 1 : 0);
}

/**
 * Key of the record that reserves a pull for the caller after a look. Null for anonymous callers, which get
 * no reservation.
 */
async function heldLook(caller: Caller, id: string): Promise<string | null> {
  if (isAnonymous(caller)) return null;
  return lookKey(id, await sha256Hex(JSON.stringify([caller.tenant, caller.keyId])));
}

/**
 * Called when no group needs a pointer any more. Until then the pointer was kept longer than its sender asked for. Now
 * it expires at the requested time; if this time has passed, it is deleted.
 */
export async function releasePointer({ engine, env }: Deps, id: string): Promise<void> {
  const records = recordsOf<PointerRecord>(engine.records);
  await compareAndSet('a pointer', async () => {
    const stored = await records.get(recordKey(id));
    if (stored?.value.kept === undefined) return true;
    const { kept: _, ...record } = stored.value;
    const { revision: expect } = stored;
    if (record.expires > env.now()) {
      return records.put(recordKey(id), record, { expect, expiresAt: record.expires });
    }
    if (!(await records.delete(recordKey(id), { expect }))) return null;
    await engine.blobs.delete(record.blob);
    return true;
  });
}

export function describe(r: PointerRecord, id: string): Peeked {
  return {
    id,
    metadata: r.metadata,
    size: r.size,
    sha256: r.sha256,
    text: r.text,
    content_type: r.type,
    channel: r.channel,
    created_at: new Date(r.created).toISOString(),
    expires_at: new Date(r.expires).toISOString(),
    max_pulls: r.max_pulls,
    visibility: r.visibility,
    from: r.from,
    ...(r.agent === undefined ? {} : { agent: r.agent }),
    ...(r.tokens ? { tokens: r.tokens } : {}),
    ...(r.key_check ? { key_check: r.key_check } : {}),
    ...handleOf(r),
  };
}

/**
 * Throws `key_missing` if a ContextRelay client has encrypted the payload. Used where the plain text is
 * needed and the encryption key is not known.
 */
export function refuseCiphertext({ type }: PointerRecord): void {
  if (type === FERNET_CONTENT_TYPE) throw new RelayError('key_missing');
}

/** Returns the answer to a push, without the URL. */
export function pushedAs(id: string, record: PointerRecord): Omit<Pushed, 'url'> {
  return {
    id,
    ...handleOf(record),
    channel: record.channel,
    expires_at: new Date(record.expires).toISOString(),
    size: record.size,
    ...(record.tokens ? { tokens: record.tokens } : {}),
    ...(record.visibility === 'tenant' ? { visibility: record.visibility } : {}),
  };
}

const PAGE = 50;
/**
 * Maximum number of list entries that are read for one page. A page may be short if a filter excludes most
 * entries.
 */
const MAX_ENTRIES_READ = 2_000;

/** Fields of a list entry. With them, entries are filtered without reading their records. */
type Listed = Pick<PointerRecord, 'channel' | 'from' | 'by'> & {
  readonly kind?: string;
  /** Text in lower case in which a search looks for words. Entries of earlier versions have none. */
  readonly text?: string;
};

/** Returns the handle, summary, sender, channel and metadata of a pointer as one text for searches. */
function searchText({ handle, from, channel, metadata }: PointerRecord): string {
  const { summary, ...rest } = metadata;
  const about = [handleOf({ handle }).handle, summary, from, channel ?? '', ...Object.values(rest)];
  const texts = about.map((value) => (typeof value === 'string' ? value : JSON.stringify(value)));
  return texts.join(' ').slice(0, POINTER_SEARCH_CHARS).toLowerCase();
}

const listPrefix = (tenant: string) => `ten.${tenant}/pointers/`;

/**
 * Returns the key of a pointer's list entry, without the id at the end. Lists are in ascending order of keys, so the
 * key contains the inverted number of the handle: the newest pointer comes first. A handle is resolved with this key
 * too. Pointers of earlier versions have no handle. Their keys contain the inverted time and come last.
 */
const listPlace = ({ tenant, created, handle }: Pick<PointerRecord, 'tenant' | 'created' | 'handle'>) => {
  const place = handle === undefined ? 2 ** 48 - created : 2 ** 47 - handle;
  return `${listPrefix(tenant)}${place.toString(16).padStart(12, '0')}.`;
};

const listKey = (record: PointerRecord, id: string) => listPlace(record) + id;

/** List of the pointers of each tenant, newest first. An entry without a matching record is skipped. */
export class PointerList {
  readonly #records: RecordsOf<Listed>;
  readonly #lookup: PointerLookup;

  constructor(deps: Deps, lookup: PointerLookup) {
    this.#records = recordsOf(deps.engine.records);
    this.#lookup = lookup;
  }

  /**
   * Adds an entry. Call it in the same tick in which the record is written, so that an engine with group
   * commit commits entry and record together.
   */
  async add(id: string, record: PointerRecord): Promise<void> {
    const { channel, from, by, metadata } = record;
    const kind = metadata.kind === OUTPUT ? { kind: OUTPUT } : {};
    const entry = { channel, from, by, ...kind, text: searchText(record) };
    await this.#records.put(listKey(record, id), entry, { expiresAt: keptUntil(record) });
  }

  async remove(id: string, record: PointerRecord): Promise<void> {
    await this.#records.delete(listKey(record, id));
  }

  async page(caller: CallerAt, o: PointerQuery): Promise<PointerPage> {
    const limit = checkCount('limit', o.limit ?? PAGE, POINTERS_LISTED);
    const prefix = listPrefix(caller.tenant);
    const after = o.after === undefined ? undefined : prefix + checkPlace(o.after);
    const filter = wordFilter(o.q);
    const look = async (entry: RecordOf<Listed>) => {
      const { key, value } = entry;
      const matches =
        (o.q === undefined || filter.matches(value.text ?? '')) &&
        (o.channel === undefined || value.channel === o.channel) &&
        (o.from === undefined || value.from === o.from);
      return { next: key.slice(prefix.length), loaded: matches ? await this.#load(caller, entry) : null };
    };
    const found: ListedPointer[] = [];
    let looked = 0;
    const { contains } = filter;
    const entries = allRecords(this.#records, prefix, { after, limit: POINTERS_LISTED, contains });
    for await (const { next, loaded } of lookUpAll(entries, look, limit)) {
      if (loaded)
        found.push({ ...describe(loaded.record, loaded.id), url: pointerUrl(caller.base, loaded.id) });
      if (found.length === limit || ++looked === MAX_ENTRIES_READ) return { pointers: found, next };
    }
    return { pointers: found };
  }

  /** Yields the outputs of commands that the caller may list, newest first. */
  async *outputs(caller: Caller): AsyncGenerator<Omit<Loaded, 'revision'>> {
    const entries = allRecords(this.#records, listPrefix(caller.tenant));
    const look = async (entry: RecordOf<Listed>) =>
      entry.value.kind === OUTPUT ? this.#load(caller, entry) : null;
    for await (const loaded of lookUpAll(entries, look)) if (loaded) yield loaded;
  }

  /** Loads the pointer of an entry. Returns null if it no longer exists or the caller may not access it. */
  async #load(caller: Caller, { key, value }: RecordOf<Listed>): Promise<Omit<Loaded, 'revision'> | null> {
    if (!reaches(caller, value)) return null;
    const id = key.slice(key.lastIndexOf('.') + 1);
    const record = await this.#lookup.find(id);
    return record && listKey(record, id) === key ? { id, record } : null;
  }
}

function checkPlace(after: string): string {
  if (/^[0-9a-f]{12}\.[0-9a-f-]{36}$/.test(after)) return after;
  throw badRequest('"after" must be the value "next" of the previous page.');
}

const handlesKey = (tenant: string) => `ten.${tenant}/handles`;

/** Maximum number of handles that are reserved by one write. */
const MAX_BLOCK = 32;
/**
 * Time in ms for which reserved handle numbers may be used. Older reserved numbers are skipped: other processes may
 * have given higher numbers meanwhile, and lists are ordered by number.
 */
const FRESH_MS = 1_000;

/** Handle numbers that this process has reserved: from `next` to `end - 1`. */
interface Block {
  readonly at: number;
  readonly size: number;
  readonly end: number;
  next: number;
}

/**
 * Gives each pushed pointer of a tenant the next handle number. No number is given twice, but numbers may be skipped.
 * The first push reserves one number. Pushes in quick succession reserve up to `MAX_BLOCK` numbers with one write,
 * because each reservation costs a write.
 */
export class Handles {
  readonly #deps: Pick<Deps, 'engine' | 'env'>;
  readonly #blocks = new Map<string, Block>();
  readonly #reserving = new Set<string>();

  constructor(deps: Pick<Deps, 'engine' | 'env'>) {
    this.#deps = deps;
  }

  /** Returns the next handle number. */
  async take(tenant: string): Promise<number> {
    const { engine, env } = this.#deps;
    const block = this.#blocks.get(tenant);
    const fresh = block !== undefined && env.now() - block.at < FRESH_MS;
    if (fresh && block.next < block.end) return block.next++;
    // Only one push at a time reserves a block. Meanwhile other pushes reserve one number each, because a
    // second block would replace the first one and waste its numbers.
    const isFirst = !this.#reserving.has(tenant);
    const size = fresh && isFirst ? Math.min(block.size * 2, MAX_BLOCK) : 1;
    if (isFirst) this.#reserving.add(tenant);
    try {
      const last = (await engine.records.add(handlesKey(tenant), size))!;
      const first = last - size + 1;
      if (isFirst) this.#blocks.set(tenant, { at: env.now(), size, next: first + 1, end: last + 1 });
      return first;
    } finally {
      if (isFirst) this.#reserving.delete(tenant);
    }
  }
}

/**
 * Number of handles that are skipped in a restored store. Pushes after the backup may have used these handles, and a
 * handle must never be used twice. A relay at full speed needs half a day for this many pushes.
 */
const RESTORE_SKIPS = 100_000_000;

/** Advances the handle counter of every tenant after a restore, so that no handle is used twice. */
export async function skipHandles({ moving, records }: Pick<Engine, 'moving' | 'records'>): Promise<void> {
  // A store that was moved to another engine is read-only and will give no more handles, so leave its
  // counters alone.
  if ((await moving!.moveStatus()) !== null) return;
  for await (const { key } of moving!.exportRecords())
    if (/^ten\.[^/]+\/handles$/.test(key)) await records.add(key, RESTORE_SKIPS);
}
