import { badRequest, isRelayError, RelayError } from '../../base/errors.ts';
import { FILE_PAGE_BYTES, ORPHAN_AGE_MS, PAGE_ITEMS, PAGE_ITEMS_MAX } from '../../base/limits.ts';
import { mapConcurrent } from '../../base/map-concurrent.ts';
import { everyItem } from '../../base/pages.ts';
import { utf8Bytes } from '../../base/utf8.ts';
import type { Caller } from '../../contract/caller.ts';
import type { FileInfo, FilePage, ListOptions } from '../../contract/files.ts';
import { compareKeys } from '../../kernel/validate-input.ts';
import type { Background } from '../background.ts';
import type { Deps } from '../deps.ts';
import type { EndIndex } from '../end-index.ts';
import { checkCount } from '../names.ts';
import type { Allowance } from '../pointers/push-options.ts';
import { allRecords, type RecordsOf, recordsOf } from '../records.ts';
import type { Storage } from '../usage/storage.ts';
import { wordFilter } from '../word-filter.ts';
import {
  blobsPrefix,
  checkPrefix,
  endName,
  type FileHead,
  type FilePlace,
  type FileVersion,
  fileEnds,
  fileStorageBytes,
  hasEnded,
  headKey,
  headsPrefix,
  isVisible,
  type StoredHead,
  spaceKey,
  spacesPrefix,
  toFileInfo,
  versionKey,
  versionsPrefix,
} from './record.ts';

/** The services that files use. */
export interface FileParts {
  readonly deps: Deps;
  readonly storage: Storage;
  readonly allowance: Allowance;
  readonly background: Background;
}

/**
 * Stores the records of files. A file becomes invisible as soon as it expires. To delete a file, set `expires` of its
 * head record to 0. The caller, the sweep or the next writer then removes the data of the file, and usually the head
 * record last. Only the process that replaces or deletes the head record updates the quota, so no bytes are added or
 * freed twice.
 */
export class FileStore {
  readonly parts: FileParts;
  readonly heads: RecordsOf<FileHead>;
  readonly versions: RecordsOf<FileVersion>;
  readonly ends: EndIndex<FilePlace>;

  constructor(parts: FileParts) {
    this.parts = parts;
    this.heads = recordsOf(parts.deps.engine.records);
    this.versions = recordsOf(parts.deps.engine.records);
    this.ends = fileEnds(parts.deps);
  }

  /** Finds the head of a file. Returns null for an expired file or one that the caller may not see. */
  async find(at: FilePlace): Promise<StoredHead | null> {
    const stored = await this.heads.get(headKey(at));
    if (!stored || hasEnded(stored.value, this.parts.deps.env.now())) return null;
    return isVisible(at, stored.value) ? stored : null;
  }

  /**
   * Adds a file to the expiry index. The entry contains the tenant, space and path of `at`, but not its
   * caller.
   */
  async noteEnd(at: FilePlace, expires: number, o: { frees?: boolean } = {}): Promise<void> {
    const { tenant, space, path } = at;
    await this.ends.note(expires, endName(at), { tenant, space, path }, o);
  }

  /** Returns the head of a file. Throws `not_found` if `find` returns null. */
  async get(at: FilePlace): Promise<StoredHead> {
    const stored = await this.find(at);
    if (!stored) throw fileNotFound(at);
    return stored;
  }

  /** Finds the head of a file before a write. Removes an expired file first, so that its path is free. */
  async findToReplace(at: FilePlace): Promise<StoredHead | null> {
    const stored = await this.heads.get(headKey(at));
    if (!stored) return null;
    if (!hasEnded(stored.value, this.parts.deps.env.now())) {
      if (isVisible(at, stored.value)) return stored;
      throw new RelayError('forbidden', {
        what: 'Another key wrote this file, and your key has no access to it.',
        hint: 'Use that key, or a key without a channel prefix.',
      });
    }
    await this.removeEnded(at, stored);
    return null;
  }

  /** Removes the data of a file that has expired or was deleted. It may run concurrently, and again after a crash. */
  async removeEnded(at: FilePlace, { value: head, revision }: StoredHead): Promise<void> {
    await this.#removeBodies(at, head);
    const isDeleted = await this.heads.delete(headKey(at), { expect: revision });
    if (isDeleted) await this.parts.storage.freed(at.tenant, fileStorageBytes(head));
  }

  async #removeBodies(at: FilePlace, head: FileHead): Promise<void> {
    // Most files have one version and no version records, so they need no read here.
    if (head.current.version > 1) {
      const earlier: FileVersion[] = [];
      for await (const { value } of allRecords(this.versions, versionsPrefix(at, head.id)))
        earlier.push(value);
      await this.dropVersions(at, head.id, earlier);
    }
    await this.parts.deps.engine.blobs.delete(head.current.blob);
  }

  /** Deletes the blobs and records of versions. */
  async dropVersions(at: FilePlace, id: string, versions: readonly FileVersion[]): Promise<void> {
    await mapConcurrent(versions, async ({ version, blob }) => {
      await this.parts.deps.engine.blobs.delete(blob);
      await this.versions.delete(versionKey(at, id, version));
    });
  }

  /** Adds a space to its tenant's list. Call it before the space gets its first file. */
  async list({ tenant, space }: FilePlace): Promise<void> {
    const key = spaceKey({ tenant, space });
    const { records } = this.parts.deps.engine;
    if (!(await records.get(key))) await records.put(key, {}, { expect: 'absent' });
  }

  /** Deletes the data of expired files. */
  async removeExpired(): Promise<void> {
    await this.ends.forDue(async (at) => {
      const stored = await this.heads.get(headKey(at));
      if (stored && hasEnded(stored.value, this.parts.deps.env.now())) await this.removeEnded(at, stored);
    });
  }

  /**
   * Deletes a file. Setting `expires` to 0 is the commit point. Returns false if the file changed meanwhile.
   */
  async end(at: FilePlace, { value, revision }: StoredHead): Promise<boolean> {
    const ended = { ...value, expires: 0 };
    try {
      // Add the file to the expiry index first: after a crash, the sweep finishes the deletion.
      await this.noteEnd(at, 0, { frees: true });
      const done = await this.heads.put(headKey(at), ended, { expect: revision, frees: true });
      if (done === null) return false;
      await this.removeEnded(at, { value: ended, revision: done });
    } catch (error) {
      if (!isRelayError(error, 'store_full')) throw error;
      // A full store accepts only deletions, so delete the head record directly. If the process crashes now,
      // the blobs and version records are orphans.
      if (!(await this.heads.delete(headKey(at), { expect: revision }))) return false;
      await this.#removeBodies(at, value);
      await this.parts.storage.freed(at.tenant, fileStorageBytes(value));
    }
    await this.ends.forget(0, endName(at));
    if (value.expires !== null) await this.ends.forget(value.expires, endName(at));
    return true;
  }

  /** Returns how many bytes of the quota all files of a space use. */
  async bytesIn(at: Pick<FilePlace, 'tenant' | 'space'>): Promise<number> {
    let bytes = 0;
    for await (const { value } of allRecords(this.heads, headsPrefix(at))) bytes += fileStorageBytes(value);
    return bytes;
  }

  /** Deletes orphans in all spaces of a tenant. */
  async removeOrphans(tenant: string): Promise<void> {
    for await (const space of this.spacesOf(tenant)) await this.removeOrphansIn({ tenant, space });
  }

  /**
   * Deletes blobs of unfinished writes and versions of deleted files. Skips blobs and versions younger than
   * an hour, because they may belong to a running write. Reads heads before versions, because a concurrent
   * write moves a body from the head to a version record: in this order, the body is found in one of them.
   */
  async removeOrphansIn(at: Pick<FilePlace, 'tenant' | 'space'>): Promise<void> {
    const { engine, env } = this.parts.deps;
    const before = env.now() - ORPHAN_AGE_MS;
    const [oldestKept, bodies] = [new Map<string, number>(), new Set<string>()];
    for await (const { value } of allRecords(this.heads, headsPrefix(at))) {
      oldestKept.set(value.id, value.first);
      bodies.add(value.current.blob);
    }
    for await (const { key, value } of allRecords(this.versions, versionsPrefix(at))) {
      const id = key.slice(versionsPrefix(at).length).split('/')[0]!;
      const isKept = value.version >= (oldestKept.get(id) ?? Number.POSITIVE_INFINITY);
      if (isKept || createdAt(id) > before || value.at > before) bodies.add(value.blob);
      else await this.versions.delete(key);
    }
    const blobs = everyItem('items', (o) => engine.blobs.list(blobsPrefix(at), o));
    for await (const { key, at: written } of blobs)
      if (written <= before && !bodies.has(key)) await engine.blobs.delete(key);
  }

  /**
   * Returns a readable name of the file that a blob belongs to, or null if no file refers to the blob. Scans
   * the whole space.
   */
  async nameOfBody(blob: string): Promise<string | null> {
    const [, tenant, space] = /^fil\.([^.]+)\.([^/]+)\//.exec(blob) ?? [];
    if (tenant === undefined || space === undefined) return null;
    const at = { tenant, space };
    const names = new Map<string, string>();
    for await (const { key, value } of allRecords(this.heads, headsPrefix(at))) {
      const name = `file ${space}/${key.slice(headsPrefix(at).length)}`;
      if (value.current.blob === blob) return name;
      names.set(value.id, name);
    }
    for await (const { key, value } of allRecords(this.versions, versionsPrefix(at))) {
      const name = names.get(key.slice(versionsPrefix(at).length).split('/')[0]!);
      if (value.blob === blob && name !== undefined) return `version ${value.version} of ${name}`;
    }
    return null;
  }

  /** Yields every space that ever had a file. */
  async *spacesOf(tenant: string): AsyncGenerator<string> {
    const prefix = spacesPrefix(tenant);
    for await (const { key } of allRecords(this.parts.deps.engine.records, prefix))
      yield key.slice(prefix.length);
  }
}

/** Returns the error for a file that does not exist or is not visible. */
export function fileNotFound({ space, path }: FilePlace): RelayError {
  return new RelayError('not_found', {
    what: `the file ${path.slice(0, 200)} in ${space}`,
    hint: 'List the files with relay file ls SPACE or GET /files/SPACE.',
  });
}

/** Returns the creation time that an id contains, in ms since the epoch. */
function createdAt(id: string): number {
  return Number.parseInt(id.slice(0, 12), 16);
}

/** Character that sorts after every character that a path can contain. */
const LAST_CHARACTER = '\u{10ffff}';

/**
 * Lists the files below a prefix, sorted by path. With a delimiter, each folder is skipped in one step. So
 * the cost depends on the number of entries shown, not on the number of files in folders.
 */
export async function listFiles(
  store: FileStore,
  at: Omit<FilePlace, 'path'>,
  o: ListOptions,
): Promise<FilePage> {
  const prefix = checkPrefix('prefix', o.prefix);
  const limit = checkCount('limit', o.limit ?? PAGE_ITEMS, PAGE_ITEMS_MAX);
  if (o.delimiter !== undefined && o.delimiter !== '/')
    throw badRequest('"delimiter" must be / or left out.');
  const root = headsPrefix(at);
  const now = store.parts.deps.env.now();
  const filter = wordFilter(o.q);
  const files: FileInfo[] = [];
  const prefixes: string[] = [];
  let bytes = 0;
  for (let after = listingKeyAfter(checkPrefix('after', o.after)); ; ) {
    const pageLimit = Math.min(PAGE_ITEMS_MAX, limit - files.length - prefixes.length + 1);
    const page = await store.heads.list(root + prefix, {
      limit: pageLimit,
      ...(after === '' ? {} : { after: root + after }),
    });
    let folder: string | undefined;
    for (const { key, value } of page.items) {
      const path = key.slice(root.length);
      if (hasEnded(value, now) || !isVisible(at, value) || !filter.matches(path)) continue;
      const deeper = o.delimiter ? path.indexOf('/', prefix.length) : -1;
      if (files.length + prefixes.length === limit || bytes > FILE_PAGE_BYTES)
        return answer(files, o.delimiter && prefixes, last(files, prefixes));
      if (deeper >= 0) {
        folder = path.slice(0, deeper + 1);
        if (prefixes.at(-1) !== folder) prefixes.push(folder);
        break;
      }
      const file = toFileInfo({ ...at, path }, value);
      bytes += utf8Bytes(JSON.stringify(file));
      files.push(file);
    }
    if (folder !== undefined) after = listingKeyAfter(folder);
    else if (page.next === undefined) return answer(files, o.delimiter && prefixes);
    else after = page.next.slice(root.length);
  }
}

/** Lists spaces that have at least one visible file. */
export async function listSpaces(
  store: FileStore,
  caller: Caller,
  o: { after?: string; limit?: number },
): Promise<{ spaces: { space: string }[]; next?: string }> {
  const limit = checkCount('limit', o.limit ?? PAGE_ITEMS, PAGE_ITEMS_MAX);
  const { tenant } = caller;
  const root = spacesPrefix(tenant);
  const after = checkPrefix('after', o.after);
  const { items, next } = await store.parts.deps.engine.records.list(root, {
    limit,
    ...(after === '' ? {} : { after: root + after }),
  });
  const spaces = [];
  for (const { key } of items) {
    const space = key.slice(root.length);
    const { files } = await listFiles(store, { tenant, space, caller }, { limit: 1 });
    if (files.length > 0) spaces.push({ space });
  }
  return { spaces, ...(next === undefined ? {} : { next: next.slice(root.length) }) };
}

/** Returns the key after which a listing continues. For a folder, this is the key after all files in the folder. */
function listingKeyAfter(place: string): string {
  return place.endsWith('/') ? place + LAST_CHARACTER : place;
}

function last(files: readonly FileInfo[], prefixes: readonly string[]): string {
  const [file, folder] = [files.at(-1)?.path ?? '', prefixes.at(-1) ?? ''];
  return compareKeys(file, folder) > 0 ? file : folder;
}

function answer(files: FileInfo[], prefixes: string[] | undefined | '', next?: string): FilePage {
  return { files, ...(prefixes ? { prefixes } : {}), ...(next === undefined ? {} : { next }) };
}
