import { fromBase64 } from '../../base/base64.ts';
import { countRead, readBytes } from '../../base/byte-streams.ts';
import { badRequest, isRelayError, RelayError } from '../../base/errors.ts';
import { sha256Hex } from '../../base/hash.ts';
import { checkIdempotencyKey, timeOrderedId } from '../../base/ids.ts';
import { FILE_VERSIONS, FILES_AT_ONCE, FILES_READ_BYTES } from '../../base/limits.ts';
import { mapConcurrent } from '../../base/map-concurrent.ts';
import { encodeUtf8, utf8Bytes } from '../../base/utf8.ts';
import { type Caller, doneBy } from '../../contract/caller.ts';
import type { FileInfo, FileInput, FileWithBytes, files, NewFile } from '../../contract/files.ts';
import type { Cost, LocalOptions, Part, PartRequest } from '../../contract/pointers.ts';
import type { BlobBody, ByteRange } from '../../kernel/blobs.ts';
import { compareAndSet, type Staged } from '../../kernel/records.ts';
import { cutRange } from '../../kernel/validate-input.ts';
import type { Happening } from '../activity/activity-log.ts';
import { meterBody } from '../bodies.ts';
import { allRecords } from '../records.ts';
import type { Serves } from '../relay-binding.ts';
import { workFor } from '../text-work.ts';
import { type FileParts, FileStore, fileNotFound, listFiles, listSpaces } from './file-store.ts';
import {
  blobKey,
  checkConditions,
  checkFileOptions,
  checkPath,
  checkSpace,
  endName,
  type FileHead,
  type FilePlace,
  type FileVersion,
  fileStorageBytes,
  headKey,
  type StoredHead,
  toFileInfo,
  toFilePlace,
  versionKey,
  versionStorageBytes,
  versionsPrefix,
} from './record.ts';

type Version = { readonly version?: number };

function happened(
  kind: 'file.written' | 'file.deleted',
  caller: Caller,
  { space, path }: FilePlace,
): Happening {
  return { kind, ...doneBy(caller), space, name: path };
}
type OpenedVersion = { readonly head: FileHead; readonly version: FileVersion; readonly body: BlobBody };

/** Named files that can be overwritten and deleted, with some earlier versions. */
export class Files implements Serves<typeof files> {
  readonly store: FileStore;

  constructor(parts: FileParts) {
    this.store = new FileStore(parts);
  }

  /** Lists the spaces that have files. */
  spaces(caller: Caller, o: { after?: string; limit?: number } = {}) {
    return listSpaces(this.store, caller, o);
  }

  /** Lists the files of a space. */
  async list(caller: Caller, space: string, o: Parameters<typeof listFiles>[2] = {}) {
    return listFiles(this.store, { tenant: caller.tenant, space: checkSpace(space), caller }, o);
  }

  /**
   * Writes a file: first the blob, then the record of the replaced version, then the head. The head is the
   * commit point: a crash before it leaves only orphans. Versions that the file no longer keeps are deleted
   * afterwards.
   */
  async put(caller: Caller, space: string, path: string, input: FileInput): Promise<FileInfo> {
    const { deps, storage, allowance } = this.store.parts;
    const { engine, env } = deps;
    const at = toFilePlace(caller, space, path);
    const options = checkFileOptions(input, env.now());
    const key = checkIdempotencyKey(input.idempotency_key);
    const request = key === undefined ? null : (await sha256Hex(`${caller.keyId}\n${key}`)).slice(0, 32);
    const { payloadBytes } = await allowance.terms(caller);
    const before = await this.store.findToReplace(at);
    if (!isRepeated(before, request)) {
      checkConditions(at, input, before?.value ?? null);
      await storage.admit(at.tenant, declaredSize(input));
    }
    const metered = meterBody(input.body, input.size, payloadBytes, 'a file');
    await this.store.list(at);
    const blob = blobKey(at, timeOrderedId(env));
    try {
      const staged = await engine.blobs.stage(blob, metered.body, { size: input.size });
      const { size, sha256 } = staged;
      const { metadata, type } = options;
      const about = { blob, size, sha256, text: metered.isText(), type, metadata };
      const written = { at: env.now(), by: caller.keyId, from: caller.name, request };
      // Compute the expiry again: the lifetime begins when the whole body has arrived.
      const expires = input.ttl === undefined ? null : checkFileOptions(input, written.at).expires;
      const done = await compareAndSet('a file', async (round) => {
        const old = round === 0 ? before : await this.store.findToReplace(at);
        if (old && isRepeated(old, request)) {
          if (old.value.current.sha256 !== sha256) throw new RelayError('idempotency_conflict');
          await engine.blobs.delete(blob);
          return old.value;
        }
        checkConditions(at, input, old?.value ?? null);
        const next = { expires, keep: input.keep, about: { ...about, ...written }, staged };
        return this.#replace(at, old, next);
      });
      allowance.note(caller, 'file_put', size, at.tenant);
      const file = toFileInfo(at, done);
      deps.activity.note(at.tenant, { ...happened('file.written', caller, at), version: file.version, size });
      return file;
    } catch (error) {
      // Delete the blob only if the write was refused with one of the two errors below. After any other error, the
      // write may be committed, so the blob must stay. If no record refers to it, the sweep deletes it.
      const isRefused = isRelayError(error, 'file_changed') || isRelayError(error, 'idempotency_conflict');
      if (isRefused) await engine.blobs.delete(blob);
      throw error;
    }
  }

  async get(caller: Caller, space: string, path: string, o: Version & { range?: ByteRange } = {}) {
    const at = toFilePlace(caller, space, path);
    let range: ByteRange | undefined;
    const { head, version, body } = await this.#open(at, o.version, ({ size }) => {
      range = o.range && cutRange(o.range, size);
      return range;
    });
    const note = (bytes: number) => this.#noteRead(caller, bytes);
    if (body instanceof Uint8Array) note(body.byteLength);
    return {
      file: toFileInfo(at, head, version),
      body: body instanceof Uint8Array ? body : countRead(body, note),
      ...(range ? { range } : {}),
    };
  }

  /** Describes a file or one version of it. */
  async info(caller: Caller, space: string, path: string, o: Version = {}): Promise<FileInfo> {
    const at = toFilePlace(caller, space, path);
    const { value: head } = await this.store.get(at);
    return toFileInfo(at, head, await this.#version(at, head, o.version));
  }

  /** Describes all stored versions of a file, newest first. */
  async log(caller: Caller, space: string, path: string): Promise<FileInfo[]> {
    const at = toFilePlace(caller, space, path);
    const { value: head } = await this.store.get(at);
    const versions = [head.current];
    for await (const { value } of allRecords(this.store.versions, versionsPrefix(at, head.id))) {
      if (value.version >= head.first && value.version < head.current.version) versions.push(value);
    }
    versions.sort((a, b) => b.version - a.version);
    return versions.map((version) => toFileInfo(at, head, version));
  }

  async part(caller: Caller, space: string, path: string, part: PartRequest, o: Version & LocalOptions = {}) {
    const at = toFilePlace(caller, space, path);
    const partText = await this.#readPart(caller, at, part, o);
    this.#noteRead(caller, utf8Bytes(partText.text));
    return partText;
  }

  async cost(
    caller: Caller,
    space: string,
    path: string,
    part?: PartRequest,
    o: Version & LocalOptions = {},
  ): Promise<Cost> {
    const at = toFilePlace(caller, space, path);
    const texts = workFor(caller, this.store.parts.deps.texts);
    if (part) {
      const text = encodeUtf8((await this.#readPart(caller, at, part, o)).text);
      return { ...(await texts.count(text, o)), bytes: text.byteLength };
    }
    const { version, body } = await this.#open(at, o.version);
    if (!version.text) throw new RelayError('not_text', { what: 'tokens to count' });
    const { size } = version;
    return { ...(await texts.count(body, { signal: o.signal, size })), bytes: size };
  }

  /**
   * Deletes a file and all its versions. Of two concurrent deletions, one succeeds and the other gets
   * `not_found`.
   */
  async delete(caller: Caller, space: string, path: string, o: { if_match?: string } = {}): Promise<void> {
    const at = toFilePlace(caller, space, path);
    await compareAndSet('a file', async () => {
      const stored = await this.store.get(at);
      checkConditions(at, o, stored.value);
      return (await this.store.end(at, stored)) || null;
    });
    this.store.parts.deps.activity.note(at.tenant, happened('file.deleted', caller, at));
  }

  /**
   * Reads files, at most `FILES_READ_BYTES` in total. `left` lists the files that did not fit, and the
   * client requests them again.
   */
  async read(caller: Caller, space: string, paths: readonly string[]) {
    checkBatch(paths);
    const answer = { files: [] as FileWithBytes[], missing: [] as string[], left: [] as string[] };
    const places = [...new Set(paths)].map((path) => ({ path, at: toFilePlace(caller, space, path) }));
    const heads = await mapConcurrent(places, ({ at }) => this.store.find(at));
    let room = FILES_READ_BYTES;
    const fitting = places.filter(({ path }, i) => {
      const size = heads[i]?.value.current.size;
      // A file that does not fit is listed in `left`, even if it alone is larger than `FILES_READ_BYTES`. The client
      // then reads it with a request of its own.
      const fits = size !== undefined && size <= room;
      if (fits) room -= size;
      else (size === undefined ? answer.missing : answer.left).push(path);
      return fits;
    });
    const read = await mapConcurrent(fitting, async ({ path, at }) => {
      try {
        const { head, version, body } = await this.#open(at);
        const bytes = await readBytes(body);
        this.#noteRead(caller, bytes.byteLength);
        return { ...toFileInfo(at, head, version), content: bytes };
      } catch (error) {
        if (!isRelayError(error, 'not_found')) throw error;
        answer.missing.push(path);
        return null;
      }
    });
    answer.files.push(...read.filter((file) => file !== null));
    return answer;
  }

  /**
   * Writes several files independently. If one file fails, the answer contains its error, and the other
   * files are still written.
   */
  async write(caller: Caller, space: string, drafts: readonly NewFile[]) {
    checkBatch(drafts);
    checkSpace(space);
    return {
      files: await mapConcurrent(drafts, async (draft) => {
        try {
          const { path, content, encoding, ...options } = draft;
          return await this.put(caller, space, path, { ...options, body: decodeContent(content, encoding) });
        } catch (error) {
          if (!isRelayError(error)) throw error;
          return { path: String(draft?.path), ...error.toJSON() };
        }
      }),
    };
  }

  /** Deletes files by path or below a prefix. */
  async remove(caller: Caller, space: string, o: { paths?: readonly string[]; prefix?: string }) {
    checkSpace(space);
    if ((o.paths === undefined) === (o.prefix === undefined))
      throw badRequest(
        'Pass either "paths" or "prefix", not both. An empty prefix deletes all files of the space.',
      );
    if (o.paths) checkBatch(o.paths);
    const page = o.paths ? null : await this.list(caller, space, { prefix: o.prefix, limit: FILES_AT_ONCE });
    const paths = page ? page.files.map(({ path }) => path) : [...new Set(o.paths)].map(checkPath);
    const done = await mapConcurrent(paths, (path) =>
      this.delete(caller, space, path).then(
        () => 1,
        (error) => {
          if (isRelayError(error, 'not_found')) return 0;
          throw error;
        },
      ),
    );
    const deleted = done.reduce((sum: number, one) => sum + one, 0);
    return { deleted, ...(page?.next === undefined ? {} : { more: true as const }) };
  }

  /**
   * Opens the content of a file or of one version. If another write replaces the file and deletes the blob
   * before it is opened, opens the new version.
   */
  async #open(
    at: FilePlace,
    versionNumber?: number,
    rangeOf: (version: FileVersion) => ByteRange | undefined = () => undefined,
  ): Promise<OpenedVersion> {
    for (let before: string | undefined; ; ) {
      const { value: head } = await this.store.get(at);
      const version = await this.#version(at, head, versionNumber);
      const found = await this.store.parts.deps.engine.blobs.get(version.blob, rangeOf(version));
      if (found) return { head, version, body: found.body };
      if (before === version.blob) throw fileNotFound(at);
      before = version.blob;
    }
  }

  #noteRead(caller: Caller, bytes: number): void {
    this.store.parts.allowance.note(caller, 'file_get', bytes, caller.tenant);
  }

  async #version(at: FilePlace, head: FileHead, number?: number): Promise<FileVersion> {
    const { current, first, id } = head;
    if (number === undefined || number === current.version) return current;
    const isKept = Number.isInteger(number) && number >= first && number < current.version;
    const stored = isKept ? await this.store.versions.get(versionKey(at, id, number)) : null;
    if (!stored) throw fileNotFound({ ...at, path: `${at.path} at version ${number}` });
    return stored.value;
  }

  /** Replaces the head with a new version. Returns null if another writer was faster. */
  async #replace(
    at: FilePlace,
    old: StoredHead | null,
    next: { expires: number | null; keep?: number; about: Omit<FileVersion, 'version'>; staged: Staged },
  ): Promise<FileHead | null> {
    const { heads, versions, ends, parts } = this.store;
    const before = old?.value;
    const keep = next.keep ?? before?.keep ?? FILE_VERSIONS;
    const current: FileVersion = { version: (before?.current.version ?? 0) + 1, ...next.about };
    const first = Math.max(before?.first ?? 1, current.version - keep);
    const dropped = before ? await this.#versionsBefore(at, before, first) : [];
    const freed = dropped.reduce((sum, version) => sum + versionStorageBytes(version), 0);
    const head: FileHead = {
      id: before?.id ?? timeOrderedId(parts.deps.env),
      created: before?.created ?? current.at,
      expires: next.expires,
      keep,
      first,
      earlierBytes: before ? Math.max(0, fileStorageBytes(before) - freed) : 0,
      current,
    };
    if (head.expires !== null) await this.store.noteEnd(at, head.expires);
    const earlier =
      before && keep > 0
        ? [await versions.stage(versionKey(at, before.id, before.current.version), before.current)]
        : [];
    const revision = await parts.storage.counted(
      at.tenant,
      versionStorageBytes(current) - freed,
      () =>
        heads.put(headKey(at), head, { expect: old?.revision ?? 'absent', with: [next.staged, ...earlier] }),
      (done) => done !== null,
    );
    if (revision === null) return null;
    if (!before) return head;
    parts.background.run(async () => {
      await this.store.dropVersions(at, head.id, dropped);
      if (before.expires !== null && before.expires !== head.expires)
        await ends.forget(before.expires, endName(at));
    });
    return head;
  }

  /** Returns the versions before `first`, which the file no longer keeps. */
  async #versionsBefore(
    at: FilePlace,
    { id, first: from, current }: FileHead,
    first: number,
  ): Promise<FileVersion[]> {
    const dropped: FileVersion[] = [];
    for (let version = from; version < first; version++) {
      const stored =
        version === current.version
          ? { value: current }
          : await this.store.versions.get(versionKey(at, id, version));
      if (stored) dropped.push(stored.value);
    }
    return dropped;
  }

  async #readPart(
    caller: Caller,
    at: FilePlace,
    part: PartRequest,
    o: Version & LocalOptions,
  ): Promise<Part> {
    const { version, body } = await this.#open(at, o.version);
    if (!version.text) throw new RelayError('not_text', { what: 'lines, matches or outline' });
    return workFor(caller, this.store.parts.deps.texts).part(body, part, {
      signal: o.signal,
      size: version.size,
    });
  }
}

function declaredSize({ body, size }: FileInput): number {
  return body instanceof Uint8Array ? body.byteLength : (size ?? 0);
}

function isRepeated(stored: StoredHead | null, request: string | null): boolean {
  return request !== null && stored?.value.current.request === request;
}

function checkBatch(many: readonly unknown[]): void {
  if (!Array.isArray(many) || many.length > FILES_AT_ONCE)
    throw badRequest(`One request can have at most ${FILES_AT_ONCE} files.`);
}

function decodeContent(content: unknown, encoding: unknown): Uint8Array {
  if (content instanceof Uint8Array) return content;
  if (typeof content !== 'string') throw badRequest('"content" must be a string.');
  if (encoding !== undefined && encoding !== 'utf8' && encoding !== 'base64')
    throw badRequest('"encoding" must be "utf8" or "base64".');
  if (encoding !== 'base64') {
    if (!content.isWellFormed())
      throw badRequest('"content" has an unpaired surrogate, so it is not valid Unicode.');
    return encodeUtf8(content);
  }
  const bytes = fromBase64(content);
  if (!bytes) throw badRequest('"content" is not base64.');
  return bytes;
}
