import { fromBase64, toBase64 } from '../../base/base64.ts';
import { readBytes } from '../../base/byte-streams.ts';
import { badRequest, isRelayError } from '../../base/errors.ts';
import { FILES_AT_ONCE, FILES_READ_BYTES } from '../../base/limits.ts';
import { mapConcurrent } from '../../base/map-concurrent.ts';
import { decodeUtf8, encodeUtf8 } from '../../base/utf8.ts';
import type { Caller } from '../../contract/caller.ts';
import type { FileDraft, FileInfo, FileInput, FileRefused, FileText } from '../../contract/files.ts';
import type { BlobBody } from '../../kernel/blobs.ts';
import type { FileStore } from './file-store.ts';
import { listFiles } from './listing.ts';
import { checkPath, checkPrefix, checkSpace, type FilePlace, placeOf } from './names.ts';
import { describe, type FileHead, type FileVersion } from './record.ts';

/** What several files at once are made of: the same for each by itself. */
interface Files {
  readonly store: FileStore;
  put(caller: Caller, space: string, path: string, input: FileInput): Promise<FileInfo>;
  open(at: FilePlace): Promise<{ head: FileHead; version: FileVersion; body: BlobBody }>;
  end(at: FilePlace): Promise<void>;
}

/** Reads files as far as there is room; those that a later request must ask for are named. */
export async function readFiles(
  files: Files,
  caller: Caller,
  space: string,
  paths: readonly string[],
): Promise<{ files: (FileInfo & FileText)[]; missing: string[]; left: string[] }> {
  checkMany(paths);
  const answer = { files: [] as (FileInfo & FileText)[], missing: [] as string[], left: [] as string[] };
  const wanted = [...new Set(paths)].map((path) => ({ path, at: placeOf(caller, space, path) }));
  const heads = await mapConcurrent(wanted, ({ at }) => files.store.find(at));
  let room = FILES_READ_BYTES;
  const fitting = wanted.filter(({ path }, i) => {
    const size = heads[i]?.value.current.size;
    // One that no answer has room for is left to be read by itself, like those behind it.
    const fits = size !== undefined && size <= room;
    if (fits) room -= size;
    else (size === undefined ? answer.missing : answer.left).push(path);
    return fits;
  });
  const read = await mapConcurrent(fitting, async ({ path, at }) => {
    try {
      const { head, version, body } = await files.open(at);
      const bytes = await readBytes(body);
      files.store.parts.allowance.note(caller, 'file_get', bytes.byteLength, at.tenant);
      return { ...describe(at, head, version), ...inJson(bytes, version.text) };
    } catch (error) {
      if (!isRelayError(error, 'not_found')) throw error;
      answer.missing.push(path);
      return null;
    }
  });
  answer.files.push(...read.filter((file) => file !== null));
  return answer;
}

/** Writes files, each by itself. What is wrong with one is told of that one, and the others are written. */
export async function writeFiles(
  files: Files,
  caller: Caller,
  space: string,
  drafts: readonly FileDraft[],
): Promise<{ files: (FileInfo | FileRefused)[] }> {
  checkMany(drafts);
  checkSpace(space);
  return {
    files: await mapConcurrent(drafts, async (draft) => {
      try {
        const { path, content, encoding, ...options } = draft;
        return await files.put(caller, space, path, { ...options, body: fromJson(content, encoding) });
      } catch (error) {
        if (!isRelayError(error)) throw error;
        return { path: String(draft?.path), ...error.toJSON() };
      }
    }),
  };
}

/** Deletes files by name or below a prefix. */
export async function removeFiles(
  files: Files,
  caller: Caller,
  space: string,
  o: { paths?: readonly string[]; prefix?: string },
): Promise<{ deleted: number; more?: true }> {
  const at = { tenant: caller.tenant, space: checkSpace(space), caller };
  if ((o.paths === undefined) === (o.prefix === undefined))
    throw badRequest('Say either "paths" or "prefix"; the prefix "" deletes all files of the space.');
  if (o.paths) checkMany(o.paths);
  const found = o.paths
    ? { paths: [...new Set(o.paths)].map(checkPath), next: undefined }
    : await below(files, at, checkPrefix('prefix', o.prefix));
  const done = await mapConcurrent(found.paths, (path) =>
    files.end({ ...at, path }).then(
      () => true,
      (error) => {
        if (isRelayError(error, 'not_found')) return false;
        throw error;
      },
    ),
  );
  const deleted = done.filter(Boolean).length;
  return { deleted, ...(found.next === undefined ? {} : { more: true }) };
}

async function below(files: Files, at: Omit<FilePlace, 'path'>, prefix: string) {
  const page = await listFiles(files.store, at, { prefix, limit: FILES_AT_ONCE });
  return { paths: page.files.map(({ path }) => path), next: page.next };
}

function checkMany(many: readonly unknown[]): void {
  if (!Array.isArray(many) || many.length > FILES_AT_ONCE)
    throw badRequest(`One request takes at most ${FILES_AT_ONCE} files.`);
}

function inJson(bytes: Uint8Array, isText: boolean): FileText {
  const text = isText ? decodeUtf8(bytes) : null;
  return text === null
    ? { content: toBase64(bytes), encoding: 'base64' }
    : { content: text, encoding: 'utf8' };
}

function fromJson(content: unknown, encoding: unknown): Uint8Array {
  if (typeof content !== 'string') throw badRequest('"content" must be a text.');
  if (encoding !== undefined && encoding !== 'utf8' && encoding !== 'base64')
    throw badRequest('"encoding" is "utf8" or "base64".');
  if (encoding !== 'base64') {
    if (!content.isWellFormed()) throw badRequest('"content" holds half of a surrogate pair.');
    return encodeUtf8(content);
  }
  const bytes = fromBase64(content);
  if (!bytes) throw badRequest('"content" is not base64.');
  return bytes;
}
