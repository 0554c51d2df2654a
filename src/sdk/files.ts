import { fromBase64, toBase64 } from '../base/base64.ts';
import { isRelayError, RelayError } from '../base/errors.ts';
import type { Json, JsonObject } from '../base/json.ts';
import { FILES_AT_ONCE, JSON_BODY_BYTES, STORED_BYTES } from '../base/limits.ts';
import { everyItem } from '../base/pages.ts';
import { decodeUtf8, encodeUtf8, utf8Bytes } from '../base/utf8.ts';
import type { FileDraft, FileInfo, FileRefused, FilesApi, ListOptions } from '../contract/files.ts';
import type { PartRequest } from '../text/parts/part-request.ts';
import type { PushData } from './options.ts';
import { blobType, bodyOf, collect, streamOf } from './payload.ts';

/*
 * What a method here passes on to the API gives what that gives: its type is declared there.
 */

/** JSON of one write: what a relay takes, less what stands around the files. */
const WRITE_BYTES = JSON_BODY_BYTES - 1024;

/** The files of a relay, by space. */
export class Files {
  readonly #api: FilesApi;

  constructor(api: FilesApi) {
    this.#api = api;
  }

  /** A space is there as soon as a file is in it. */
  space(name: string): FileSpace {
    return new FileSpace(name, this.#api);
  }

  /** The names of the spaces that hold a file. */
  async spaces(): Promise<string[]> {
    const names: string[] = [];
    for await (const { space } of everyItem('spaces', (o) => this.#api.spaces(o))) names.push(space);
    return names;
  }
}

export interface FileWriteOptions {
  readonly contentType?: string;
  readonly metadata?: JsonObject;
  /** Seconds from this write on; without it the file stays until it is deleted. */
  readonly ttl?: number;
  /** How many earlier versions to keep; for a new file 20 by default, later as many as it kept before. */
  readonly keep?: number;
  /** Only where the file is at this version: `3`, `v3`, its etag, or `*` for any. */
  readonly ifMatch?: string | number;
  /** Only where there is no such file yet. */
  readonly ifAbsent?: boolean;
  readonly idempotencyKey?: string;
}

/** A small file for a write of several. */
export interface FileToWrite extends Omit<FileWriteOptions, 'idempotencyKey'> {
  readonly path: string;
  readonly content: string | Uint8Array;
}

export interface FileRead {
  readonly file: FileInfo;
  readonly bytes: Uint8Array;
  text(): string;
}

/** Named files that are overwritten and deleted at will, each with some of its earlier versions. */
export class FileSpace {
  readonly name: string;
  readonly #api: FilesApi;

  constructor(name: string, api: FilesApi) {
    this.name = name;
    this.#api = api;
  }

  async put(path: string, data: PushData, o: FileWriteOptions = {}): Promise<FileInfo> {
    return this.#api.put(this.name, path, {
      body: await bodyOf(data),
      ...optionsOf({ ...o, contentType: o.contentType ?? blobType(data) }),
      idempotency_key: o.idempotencyKey,
    });
  }

  /** The content as text, or the asked part of it. */
  async text(path: string, part?: PartRequest, o: { version?: number } = {}): Promise<string> {
    if (part) return (await this.#api.part(this.name, path, part, o)).text;
    return textOf(await this.bytes(path, o));
  }

  async json<T = Json>(path: string, o: { version?: number } = {}): Promise<T> {
    return JSON.parse(await this.text(path, undefined, o));
  }

  async bytes(
    path: string,
    o: { version?: number; range?: { start: number; end: number } } = {},
  ): Promise<Uint8Array> {
    const { body } = await this.#api.get(this.name, path, o);
    return collect(body, { bytes: STORED_BYTES, what: 'a file' });
  }

  async stream(path: string, o: { version?: number } = {}): Promise<ReadableStream<Uint8Array>> {
    return streamOf((await this.#api.get(this.name, path, o)).body);
  }

  /** Everything but the content. */
  info(path: string, o: { version?: number } = {}) {
    return this.#api.info(this.name, path, o);
  }

  async exists(path: string): Promise<boolean> {
    try {
      await this.info(path);
      return true;
    } catch (error) {
      if (isRelayError(error, 'not_found')) return false;
      throw error;
    }
  }

  /** The versions that are kept, newest first. */
  log(path: string) {
    return this.#api.log(this.name, path);
  }

  /** What a model would pay for it, or for a part of it. */
  cost(path: string, part?: PartRequest) {
    return this.#api.cost(this.name, path, part);
  }

  /** One page, in the order of the paths. With `delimiter: '/'` what lies deeper is told by its folder. */
  list(o: ListOptions = {}) {
    return this.#api.list(this.name, o);
  }

  /** Every file below a prefix. */
  all(o: { prefix?: string } = {}): AsyncGenerator<FileInfo> {
    return everyItem<'files', FileInfo>('files', (page) => this.#api.list(this.name, { ...o, ...page }));
  }

  /** With all its versions. */
  delete(path: string, o: { ifMatch?: string | number } = {}): Promise<void> {
    return this.#api.delete(this.name, path, o.ifMatch === undefined ? {} : { if_match: String(o.ifMatch) });
  }

  /** Several at once, by name or below a prefix; gives how many there were. */
  async remove(o: { paths: readonly string[] } | { prefix: string }): Promise<number> {
    let sum = 0;
    if ('paths' in o) {
      for (const paths of pages(o.paths)) sum += (await this.#api.remove(this.name, { paths })).deleted;
      return sum;
    }
    for (;;) {
      const { deleted, more } = await this.#api.remove(this.name, o);
      sum += deleted;
      if (!more) return sum;
    }
  }

  /** Several files, in as few round trips as they fit in; what is not there is not in the map. */
  async read(paths: readonly string[]): Promise<Map<string, FileRead>> {
    const found = new Map<string, FileRead>();
    for (let wanted = [...paths]; wanted.length > 0; ) {
      const page = wanted.splice(0, FILES_AT_ONCE);
      const { files, left } = await this.#api.read(this.name, page);
      for (const { content, encoding, ...file } of files)
        found.set(
          file.path,
          readOf(file, encoding === 'base64' ? fromBase64(content)! : encodeUtf8(content)),
        );
      if (files.length > 0) {
        wanted.push(...left);
        continue;
      }
      // Too large for any answer of several.
      for (const path of left) {
        const { file, body } = await this.#api.get(this.name, path);
        found.set(path, readOf(file, await collect(body, { bytes: STORED_BYTES, what: 'a file' })));
      }
    }
    return found;
  }

  /** Several small files, each whole or not at all; the answer says what became of each, in the same order. */
  async write(files: readonly FileToWrite[]): Promise<(FileInfo | FileRefused)[]> {
    const answers: (FileInfo | FileRefused)[] = [];
    let drafts: FileDraft[] = [];
    let bytes = 0;
    const send = async () => {
      if (drafts.length > 0) answers.push(...(await this.#api.write(this.name, drafts)).files);
      [drafts, bytes] = [[], 0];
    };
    for (const { path, content, ...o } of files) {
      const draft: FileDraft = { path, ...inJson(content), ...optionsOf(o) };
      const size = utf8Bytes(JSON.stringify(draft));
      if (drafts.length === FILES_AT_ONCE || bytes + size > WRITE_BYTES) await send();
      drafts.push(draft);
      bytes += size + 1;
    }
    await send();
    return answers;
  }
}

function optionsOf(o: FileWriteOptions) {
  const { contentType, metadata, ttl, keep, ifMatch, ifAbsent } = o;
  return {
    content_type: contentType,
    metadata,
    ttl,
    keep,
    if_match: ifMatch === undefined ? undefined : String(ifMatch),
    if_none_match: ifAbsent ? ('*' as const) : undefined,
  };
}

function inJson(content: string | Uint8Array): { content: string; encoding: 'utf8' | 'base64' } {
  if (typeof content === 'string') return { content, encoding: 'utf8' };
  return { content: toBase64(content), encoding: 'base64' };
}

function readOf(file: FileInfo, bytes: Uint8Array): FileRead {
  return { file, bytes, text: () => textOf(bytes) };
}

function textOf(bytes: Uint8Array): string {
  const text = decodeUtf8(bytes);
  if (text === null) throw new RelayError('not_text', { what: 'text' });
  return text;
}

function* pages<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < items.length; at += FILES_AT_ONCE) yield items.slice(at, at + FILES_AT_ONCE);
}
