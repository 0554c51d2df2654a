import { badRequest } from '../../base/errors.ts';
import { FILE_PAGE_BYTES, PAGE_ITEMS, PAGE_ITEMS_MAX } from '../../base/limits.ts';
import { utf8Bytes } from '../../base/utf8.ts';
import type { Caller } from '../../contract/caller.ts';
import type { FileInfo, FilePage, ListOptions } from '../../contract/files.ts';
import { compareKeys } from '../../kernel/admission.ts';
import { checkCount } from '../names.ts';
import type { FileStore } from './file-store.ts';
import { checkPrefix, type FilePlace, headsPrefix, spacesPrefix } from './names.ts';
import { describe, hasEnded, isReached } from './record.ts';

/** Behind everything that begins so: no path holds a character that sorts later. */
const LAST = '\u{10ffff}';

/**
 * The files below a prefix, in the order of their paths. With a delimiter a folder is passed over in one step, so that a
 * listing costs what it shows, and not what lies deeper.
 */
export async function listFiles(
  store: FileStore,
  at: Omit<FilePlace, 'path'>,
  o: ListOptions,
): Promise<FilePage> {
  const prefix = checkPrefix('prefix', o.prefix);
  const limit = checkCount('limit', o.limit ?? PAGE_ITEMS, PAGE_ITEMS_MAX);
  if (o.delimiter !== undefined && o.delimiter !== '/') throw badRequest('"delimiter" is / or left out.');
  const root = headsPrefix(at);
  const now = store.parts.deps.env.now();
  const files: FileInfo[] = [];
  const prefixes: string[] = [];
  let bytes = 0;
  for (let after = behind(checkPrefix('after', o.after)); ; ) {
    const wanted = Math.min(PAGE_ITEMS_MAX, limit - files.length - prefixes.length + 1);
    const page = await store.heads.list(root + prefix, {
      limit: wanted,
      ...(after === '' ? {} : { after: root + after }),
    });
    let folder: string | undefined;
    for (const { key, value } of page.items) {
      const path = key.slice(root.length);
      if (hasEnded(value, now) || !isReached(at, value)) continue;
      const deeper = o.delimiter ? path.indexOf('/', prefix.length) : -1;
      if (files.length + prefixes.length === limit || bytes > FILE_PAGE_BYTES)
        return answer(files, o.delimiter && prefixes, last(files, prefixes));
      if (deeper >= 0) {
        folder = path.slice(0, deeper + 1);
        if (prefixes.at(-1) !== folder) prefixes.push(folder);
        break;
      }
      const file = describe({ ...at, path }, value);
      bytes += utf8Bytes(JSON.stringify(file));
      files.push(file);
    }
    if (folder !== undefined) after = behind(folder);
    else if (page.next === undefined) return answer(files, o.delimiter && prefixes);
    else after = page.next.slice(root.length);
  }
}

/** Spaces that hold a file. */
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

/** Where a listing goes on behind a file, or behind all that is in a folder. */
function behind(place: string): string {
  return place.endsWith('/') ? place + LAST : place;
}

function last(files: readonly FileInfo[], prefixes: readonly string[]): string {
  const [file, folder] = [files.at(-1)?.path ?? '', prefixes.at(-1) ?? ''];
  return compareKeys(file, folder) > 0 ? file : folder;
}

function answer(files: FileInfo[], prefixes: string[] | undefined | '', next?: string): FilePage {
  return { files, ...(prefixes ? { prefixes } : {}), ...(next === undefined ? {} : { next }) };
}
