import { isRelayError, RelayError } from '../base/errors.ts';
import type { Json, JsonObject } from '../base/json.ts';
import { FILES_AT_ONCE, JSON_BODY_BYTES, STORED_BYTES } from '../base/limits.ts';
import { everyItem } from '../base/pages.ts';
import { decodeUtf8, utf8Bytes } from '../base/utf8.ts';
import type { FileInfo, FileRefused, FilesApi, ListOptions, NewFile } from '../contract/files.ts';
import type { PartRequest } from '../text/parts/part-request.ts';
import type { CallOptions, PushData } from './options.ts';
import { blobType, collect, toBody, toStream } from './payload.ts';
import type { WithSignal } from './signals.ts';

/* Methods without a declared return type return the result of the API call. */

/**
 * Maximum size in bytes of the contents in one write request: half of the relay's limit, because the request also
 * contains paths and metadata. A larger file has a request of its own.
 */
const WRITE_BYTES = JSON_BODY_BYTES / 2;

/** The files of a relay, grouped into spaces. */
export class Files {
  readonly #api: WithSignal<FilesApi>;

  constructor(api: WithSignal<FilesApi>) {
    this.#api = api;
  }

  /** Returns a space by its name. Writing the first file creates the space. */
  space(name: string): FileSpace {
    return new FileSpace(name, this.#api);
  }

  /** Returns the names of all spaces that contain a file. */
  async spaces(options: CallOptions = {}): Promise<string[]> {
    const names: string[] = [];
    for await (const { space } of everyItem('spaces', (page) => this.#api.spaces(page, options)))
      names.push(space);
    return names;
  }
}

export interface FileWriteOptions extends CallOptions {
  /** Media type of the content. Default: the type of a Blob. */
  readonly contentType?: string;
  /** JSON object that is stored with the file. */
  readonly metadata?: JsonObject;
  /** Seconds until the file expires, counted from this write. Without it the file stays until it is deleted. */
  readonly ttl?: number;
  /** Number of earlier versions to keep. Default: 20 for a new file, no change for an existing file. */
  readonly keep?: number;
  /** Rejects the write unless the file has this version: `3`, `v3`, its etag, or `*` for any version. */
  readonly ifMatch?: string | number;
  /** Rejects the write if the file exists. */
  readonly ifAbsent?: boolean;
  /** Idempotency key. Repeated writes with this key create only one version. */
  readonly idempotencyKey?: string;
}

/** A file for `FileSpace.write`, which writes several files with one call. */
export interface FileToWrite extends Omit<FileWriteOptions, 'idempotencyKey' | 'signal'> {
  readonly path: string;
  readonly content: string | Uint8Array;
}

/** A file with its content. */
export interface FileRead {
  readonly file: FileInfo;
  readonly bytes: Uint8Array;
  /** Returns the content as text. Throws `not_text` if it is not UTF-8. */
  text(): string;
}

/** A set of named files. Each file keeps some of its earlier versions. */
export class FileSpace {
  readonly name: string;
  readonly #api: WithSignal<FilesApi>;

  constructor(name: string, api: WithSignal<FilesApi>) {
    this.name = name;
    this.#api = api;
  }

  /** Writes a file and returns its new version. */
  async put(path: string, data: PushData, options: FileWriteOptions = {}): Promise<FileInfo> {
    const input = {
      body: await toBody(data),
      ...wireOptions({ ...options, contentType: options.contentType ?? blobType(data) }),
      idempotency_key: options.idempotencyKey,
    };
    return this.#api.put(this.name, path, input, { signal: options.signal });
  }

  /** Returns the content as text, or only the requested part of it. */
  async text(
    path: string,
    part?: PartRequest,
    options: CallOptions & { version?: number } = {},
  ): Promise<string> {
    if (part) return (await this.#api.part(this.name, path, part, options)).text;
    return textOf(await this.bytes(path, options));
  }

  /** Returns the content of a JSON file, parsed. */
  async json<T = Json>(path: string, options: CallOptions & { version?: number } = {}): Promise<T> {
    return JSON.parse(await this.text(path, undefined, options));
  }

  /** Returns the content as bytes, or only the requested byte range. `end` is exclusive. */
  async bytes(
    path: string,
    options: CallOptions & { version?: number; range?: { start: number; end: number } } = {},
  ): Promise<Uint8Array> {
    const { body } = await this.#api.get(this.name, path, options);
    return collect(body, { bytes: STORED_BYTES, what: 'a file' });
  }

  /** Returns the content as a stream. */
  async stream(
    path: string,
    options: CallOptions & { version?: number } = {},
  ): Promise<ReadableStream<Uint8Array>> {
    return toStream((await this.#api.get(this.name, path, options)).body);
  }

  /** Returns version, size, hash and metadata of a file, without its content. */
  info(path: string, options: CallOptions & { version?: number } = {}) {
    return this.#api.info(this.name, path, options);
  }

  /** Returns whether the file exists. */
  async exists(path: string, options: CallOptions = {}): Promise<boolean> {
    try {
      await this.info(path, options);
      return true;
    } catch (error) {
      if (isRelayError(error, 'not_found')) return false;
      throw error;
    }
  }

  /** Returns the stored versions of a file, newest first. */
  log(path: string, options: CallOptions = {}) {
    return this.#api.log(this.name, path, undefined, options);
  }

  /** Returns how many tokens a file, or a part of it, would cost a model. */
  cost(path: string, part?: PartRequest, options: CallOptions = {}) {
    return this.#api.cost(this.name, path, part, options);
  }

  /**
   * Returns one page of files, sorted by path. With `delimiter: '/'`, lists one folder and groups deeper files by
   * subfolder.
   */
  list(options: CallOptions & ListOptions = {}) {
    return this.#api.list(this.name, options);
  }

  /** Yields every file, or every file whose path starts with the prefix. */
  all(options: CallOptions & { prefix?: string } = {}): AsyncGenerator<FileInfo> {
    return everyItem<'files', FileInfo>('files', (page) =>
      this.#api.list(this.name, { ...options, ...page }),
    );
  }

  /** Deletes a file with all its versions. With `ifMatch`, deletes the file only if it has this version. */
  delete(path: string, options: CallOptions & { ifMatch?: string | number } = {}): Promise<void> {
    return this.#api.delete(
      this.name,
      path,
      options.ifMatch === undefined ? {} : { if_match: String(options.ifMatch) },
      { signal: options.signal },
    );
  }

  /** Deletes several files, by path or by prefix. Returns the number of deleted files. */
  async remove(options: CallOptions & ({ paths: readonly string[] } | { prefix: string })): Promise<number> {
    let sum = 0;
    if ('paths' in options) {
      for (const paths of pages(options.paths))
        sum += (await this.#api.remove(this.name, { paths }, { signal: options.signal })).deleted;
      return sum;
    }
    for (;;) {
      const { deleted, more } = await this.#api.remove(this.name, options);
      sum += deleted;
      if (!more) return sum;
    }
  }

  /** Reads several files in few requests. Returns the files that exist, by path. */
  async read(paths: readonly string[], options: CallOptions = {}): Promise<Map<string, FileRead>> {
    const reads = new Map<string, FileRead>();
    /** Reads the first files of `batch` with one request. Returns the paths that are still to be read. */
    const readSome = async (batch: readonly string[]): Promise<readonly string[]> => {
      const { files, left } = await this.#api.read(this.name, batch.slice(0, FILES_AT_ONCE), options);
      for (const { content, ...file } of files) reads.set(file.path, readOf(file, content));
      const later = batch.slice(FILES_AT_ONCE);
      if (files.length > 0) return [...later, ...left];
      // The relay returned none of the files. So each of them is too large for a combined response. Read them one by one.
      for (const path of left) {
        const { file, body } = await this.#api.get(this.name, path, {}, options);
        reads.set(path, readOf(file, await collect(body, { bytes: STORED_BYTES, what: 'a file' })));
      }
      return later;
    };
    const readAll = async (batch: readonly string[]) => {
      for (let left = batch; left.length > 0; ) left = await readSome(left);
    };
    const left = paths.length > 0 ? await readSome(paths) : [];
    // The other files do not fit into one response. Send two requests at a time, so that the relay is busy while this
    // process receives a response.
    const half = left.length >> 1;
    await Promise.all([readAll(left.slice(0, half)), readAll(left.slice(half))]);
    return reads;
  }

  /** Writes several files. Each is written completely or not at all. Returns one result per file, in order. */
  async write(
    files: readonly FileToWrite[],
    callOptions: CallOptions = {},
  ): Promise<(FileInfo | FileRefused)[]> {
    const answers: (FileInfo | FileRefused)[] = [];
    let drafts: NewFile[] = [];
    let bytes = 0;
    const send = async () => {
      if (drafts.length > 0) answers.push(...(await this.#api.write(this.name, drafts, callOptions)).files);
      [drafts, bytes] = [[], 0];
    };
    for (const { path, content, ...options } of files) {
      const about = { path, ...wireOptions(options) };
      const length = typeof content === 'string' ? utf8Bytes(content) : content.byteLength;
      const size = length + utf8Bytes(JSON.stringify(about));
      if (drafts.length === FILES_AT_ONCE || bytes + size > WRITE_BYTES) await send();
      if (size > WRITE_BYTES) {
        const writing = this.put(path, content, { ...options, ...callOptions });
        answers.push(await writing.catch((error) => refusedOf(path, error)));
        continue;
      }
      drafts.push({ ...about, content });
      bytes += size;
    }
    await send();
    return answers;
  }
}

function wireOptions(options: FileWriteOptions) {
  const { contentType, metadata, ttl, keep, ifMatch, ifAbsent } = options;
  return {
    content_type: contentType,
    metadata,
    ttl,
    keep,
    if_match: ifMatch === undefined ? undefined : String(ifMatch),
    if_none_match: ifAbsent ? ('*' as const) : undefined,
  };
}

/** Returns the result for a file that the relay rejects. Throws an error that concerns the whole call, such as a timeout. */
function refusedOf(path: string, error: unknown): FileRefused {
  if (!isRelayError(error) || ![400, 402, 412, 413].includes(error.status)) throw error;
  return { path, ...error.toJSON() };
}

function readOf(file: FileInfo, bytes: Uint8Array): FileRead {
  return { file, bytes, text: () => textOf(bytes) };
}

function textOf(bytes: Uint8Array): string {
  const text = decodeUtf8(bytes);
  if (text === null)
    throw new RelayError('not_text', { what: 'text to return', hint: 'Use bytes instead of text().' });
  return text;
}

function* pages<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < items.length; at += FILES_AT_ONCE) yield items.slice(at, at + FILES_AT_ONCE);
}
