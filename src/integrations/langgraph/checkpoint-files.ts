import {
  type ChannelVersions,
  type Checkpoint,
  type CheckpointMetadata,
  type CheckpointPendingWrite,
  isDeltaSnapshot,
  type PendingWrite,
  type SerializerProtocol,
  WRITES_IDX_MAP,
} from '@langchain/langgraph-checkpoint';
import { fromBase64, toBase64 } from '../../base/base64.ts';
import { concatBytes } from '../../base/byte-streams.ts';
import { RelayError } from '../../base/errors.ts';
import { sha256Hex } from '../../base/hash.ts';
import { decodeUtf8, encodeUtf8 } from '../../base/utf8.ts';
import type { FileRead, FileSpace, FileToWrite } from '../../sdk/files.ts';
import { backwards, FileWriter, segment } from '../file-names.ts';
import type { KeptPointers } from '../kept-pointers.ts';

/** A large value: the SHA-256 hash that names the file with its content. */
type DumpedFile = readonly [type: string, hash: string, encoding: 'file'];

/** A serialized value: text, bytes, base64, or a file. */
type Dumped =
  | readonly [type: string, data: string | Uint8Array, encoding?: undefined]
  | readonly [type: string, data: string, encoding: 'base64']
  | DumpedFile;

/**
 * A value of a checkpoint, or the path of the file that contains it. Version 0.2.0 and earlier stored every value in
 * such a file.
 */
type Source = Dumped | { readonly path: string };

/** Identifies a checkpoint. */
export interface Place {
  readonly thread: string;
  readonly namespace: string;
  readonly id: string;
}

/** A stored checkpoint. Its large values are in separate files. */
export interface Stored extends Place {
  readonly parent?: string;
  /** Channels stored as changes. Their values are computed from the checkpoint's ancestors. */
  readonly deltas: readonly string[];
  /**
   * Values by channel. Undefined for a checkpoint of version 0.2.0 or earlier, whose values are in files named by
   * version.
   */
  readonly values?: Readonly<Record<string, Dumped>>;
  /** Channels whose value must exist. If one of these values is missing, loading the checkpoint fails. */
  readonly named: readonly string[];
  readonly checkpoint: Omit<Checkpoint, 'channel_values'>;
  readonly metadata: CheckpointMetadata;
  /** Time of the write, in ISO 8601. */
  readonly at: string;
}

/** A checkpoint with its values and pending writes. */
export interface Loaded {
  readonly stored: Stored;
  readonly values: Record<string, unknown>;
  readonly writes: CheckpointPendingWrite[];
}

/** A pending write in its stored form. */
interface StoredWrite {
  readonly task: string;
  readonly channel: string;
  readonly value: Dumped;
}

/**
 * Cache for one namespace: the large values that are already stored or being sent, so that this process does not send
 * them again. These are the values used by the newest checkpoint that this process has written or continued from, and
 * by writes after it. Pruning does not delete them.
 */
interface Recent {
  /** Large values by channel and version. */
  readonly values: Map<string, Dumped>;
  /** Large values that are stored or being sent, by hash. `id` is the newest checkpoint that uses the value. */
  readonly sent: Map<string, { id: string; readonly writing: Promise<void> }>;
  /**
   * Serialized form of large strings. A checkpoint often contains a string that a write has just stored. With this
   * cache, the string is not serialized again. Only strings are cached, because other values can change.
   */
  readonly strings: Map<string, DumpedFile>;
  /**
   * The last call that serializes values. The next call waits for it, because it must know which values are being
   * sent.
   */
  turn: Promise<unknown>;
}

/** Maximum number of checkpoints that a listing reads per request. */
const PAGE = 100;
/**
 * Maximum size in bytes of a value inside a checkpoint or write. A larger value has its own file, which all checkpoints
 * and writes share.
 */
const INLINE_BYTES = 4 * 1024;
/**
 * A new large value of up to this size in bytes is stored in its checkpoint's file, below the first line, so that most
 * checkpoints are one request. The value gets its own file as soon as a second checkpoint has it.
 */
const BELOW_BYTES = 256 * 1024;
const NEWLINE = 10;
/** Maximum number of namespaces whose recent values are remembered. */
const MAX_RECENT = 256;

/**
 * The files of a saver. For each thread and namespace:
 * - `<thread>/c/<namespace>/<checkpoint>`: a checkpoint as one line of JSON with its small values, and below it the
 *   larger new values. The names sort newest first.
 * - `<thread>/v/<namespace>/<hash>`: a large value that several checkpoints and writes share.
 * - `<thread>/w/<namespace>/<checkpoint>/<task>/<index>`: the pending writes of a task.
 * A checkpoint's file is written after the files of its large values, and in one step. So a checkpoint exists with all
 * its values or not at all.
 */
export class CheckpointFiles {
  readonly #space: FileSpace;
  readonly #writer: FileWriter;
  readonly #serde: SerializerProtocol;
  readonly #pointers: KeptPointers;
  readonly #recent = new Map<string, Recent>();
  /** Parsed values of files that have been read. */
  readonly #parsed = new WeakMap<FileRead, { readonly type: string; readonly value: Promise<unknown> }>();

  /** `pointers` renews the pointers that values mention, so that they live as long as the values. */
  constructor(space: FileSpace, serde: SerializerProtocol, pointers: KeptPointers) {
    this.#space = space;
    this.#writer = new FileWriter(space);
    this.#serde = serde;
    this.#pointers = pointers;
  }

  /** Returns a checkpoint by its id, or the newest one. Returns undefined if it does not exist. */
  async get(thread: string, namespace: string, id?: string): Promise<Stored | undefined> {
    const folder = await folderOf(thread, 'c', namespace);
    const path = id
      ? folder + backwards(id)
      : (await this.#space.list({ prefix: folder, limit: 1 })).files[0]?.path;
    const file = path && (await this.#space.read([path])).get(path);
    return file ? this.#parseCheckpoint(file) : undefined;
  }

  /**
   * Yields the checkpoints of one thread or of all threads in pages, newest first within a namespace. `limit` is the
   * number of checkpoints that the caller needs. `before` is the id of a checkpoint: only older checkpoints are
   * yielded. Without `namespace`, `before` is ignored.
   */
  async *pages(
    thread?: string,
    namespace?: string,
    o: { readonly limit?: number; readonly before?: string } = {},
  ): AsyncGenerator<Stored[]> {
    const threads = thread === undefined ? await this.#threads() : [`${await segment(thread)}/`];
    const below = namespace === undefined ? 'c/' : `c/${await segment(namespace)}/`;
    const limit = Math.min(PAGE, o.limit ?? PAGE);
    for (const folder of threads) {
      const prefix = folder + below;
      let after = namespace !== undefined && o.before ? prefix + backwards(o.before) : undefined;
      do {
        const page = await this.#space.list({ prefix, after, limit });
        const found = await this.#space.read(page.files.map(({ path }) => path));
        // Skip checkpoints that were deleted after the listing.
        const read = page.files.flatMap(({ path }) => found.get(path) ?? []);
        yield Promise.all(read.map((file) => this.#parseCheckpoint(file)));
        after = page.next;
      } while (after !== undefined);
    }
  }

  /**
   * Reads the values and pending writes of checkpoints in few requests. Skips checkpoints that were deleted
   * meanwhile.
   */
  async load(stored: readonly Stored[]): Promise<Loaded[]> {
    const [sources, writes] = await Promise.all([
      Promise.all(stored.map((each) => this.#sources(each))),
      this.#storedWrites(stored),
    ]);
    const folders = await Promise.all(stored.map((each) => folderOf(each.thread, 'v', each.namespace)));
    const paths = stored.flatMap((_, i) =>
      [...sources[i]!.values(), ...writes[i]!.map(({ value }) => value)].flatMap((source) =>
        pathOf(folders[i]!, source),
      ),
    );
    const contents = await this.#space.read([...new Set(paths)]);
    const loaded = stored.map(async (each, i) => {
      const values: Record<string, unknown> = {};
      for (const [channel, source] of sources[i]!) {
        const value = await this.#parse(source, contents, folders[i]!);
        if (value) values[channel] = value.parsed;
      }
      const { thread, namespace, id } = each;
      const missing = each.named.find((channel) => !Object.hasOwn(values, channel));
      if (missing !== undefined) {
        if (!(await this.get(thread, namespace, id))) return [];
        throw new RelayError('not_found', {
          what: `the value of the channel "${missing}" in the checkpoint ${id} of the thread "${thread}"`,
          hint: 'Continue from an older checkpoint of the thread, or delete the thread and start again.',
        });
      }
      return [{ stored: each, values, writes: await this.#parseWrites(writes[i]!, contents, folders[i]!) }];
    });
    return (await Promise.all(loaded)).flat();
  }

  /**
   * Like `load`, for one checkpoint from which a run continues. Remembers its values, so that the next checkpoint
   * does not send them again.
   */
  async loadToContinue(stored: Stored): Promise<Loaded | undefined> {
    const [loaded] = await this.load([stored]);
    if (loaded && stored.values)
      this.#remember(await folderOf(stored.thread, 'v', stored.namespace), stored.checkpoint, stored.values);
    return loaded;
  }

  /** Stores a checkpoint. `changed` has the new versions of the channels that changed. */
  async put(
    { thread, namespace, id }: Place,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    parent: string | undefined,
    changed: ChannelVersions,
  ): Promise<void> {
    const { channel_values, ...rest } = checkpoint;
    const folder = await folderOf(thread, 'v', namespace);
    const recent = this.#recentOf(folder);
    const values: Record<string, Dumped> = {};
    await this.#send(folder, id, async (files) => {
      for (const [channel, version] of Object.entries(checkpoint.channel_versions)) {
        const value = channel_values[channel];
        const isChanged = Object.hasOwn(changed, channel);
        if (value === undefined || (parent === undefined && !isChanged)) continue;
        const cachedValue = isChanged ? undefined : recent.values.get(versionKey(channel, version));
        values[channel] = cachedValue ?? (await this.#dumpValue(value, folder, recent, files, isChanged));
      }
    });
    const hashes = Object.values(values).flatMap(([, hash, encoding]) => (encoding === 'file' ? hash : []));
    await Promise.all(hashes.map((hash) => recent.sent.get(hash)?.writing));
    const snapshots = Object.keys(changed).filter((channel) => isDeltaSnapshot(channel_values[channel]));
    const counted = Object.keys(metadata.counters_since_delta_snapshot ?? {});
    const file = {
      thread_id: thread,
      checkpoint_ns: namespace,
      checkpoint_id: id,
      parent_id: parent,
      delta_channels: [...new Set([...snapshots, ...counted])],
      values,
      checkpoint: await this.#dump(rest),
      metadata: await this.#dump(metadata),
    };
    const path = (await folderOf(thread, 'c', namespace)) + backwards(id);
    await this.#write([{ path, content: checkpointBytes(file), keep: 0 }]);
    this.#remember(folder, rest, values);
  }

  async putWrites(
    { thread, namespace, id }: Place,
    writes: readonly PendingWrite[],
    task: string,
  ): Promise<void> {
    const values = await folderOf(thread, 'v', namespace);
    const folder = `${await folderOf(thread, 'w', namespace)}${backwards(id)}/${await segment(task)}/`;
    const recent = this.#recentOf(values);
    await this.#send(values, id, async (files) => {
      const ordinary: (readonly [channel: string, value: Dumped])[] = [];
      for (const [channel, value] of writes) {
        const dumped = await this.#dumpValue(value, values, recent, files);
        const special = WRITES_IDX_MAP[channel];
        if (special === undefined) ordinary.push([channel, dumped]);
        // A later error, interrupt or resumption replaces an earlier one.
        else files.push(json(folder + indexName(special), { task_id: task, writes: [[channel, dumped]] }));
      }
      // If a task stores its ordinary writes twice, the first ones count.
      if (ordinary.length > 0)
        files.push({ ...json(folder + indexName(0), { task_id: task, writes: ordinary }), ifAbsent: true });
    });
  }

  async writes(place: Place): Promise<CheckpointPendingWrite[]> {
    const folder = await folderOf(place.thread, 'v', place.namespace);
    const [stored] = await this.#storedWrites([place]);
    const found = await this.#space.read(stored!.flatMap(({ value }) => pathOf(folder, value)));
    return this.#parseWrites(stored!, found, folder);
  }

  async deleteThread(thread: string): Promise<void> {
    const folder = `${await segment(thread)}/`;
    await this.#space.remove({ prefix: folder });
    for (const key of this.#recent.keys()) if (key.startsWith(folder)) this.#recent.delete(key);
  }

  /** Forgets which values of a namespace are stored. Call it if another process may have deleted them. */
  async forget(thread: string, namespace: string): Promise<void> {
    this.#recent.delete(await folderOf(thread, 'v', namespace));
  }

  /**
   * Deletes the unwanted checkpoints of a namespace with their writes, and the values that no checkpoint in
   * `remaining` uses. Values younger than `newest` stay, because they may belong to a checkpoint that is being
   * written.
   */
  async keepOnly(remaining: readonly Stored[], unwanted: readonly Stored[], newest: Stored): Promise<void> {
    const { thread, namespace } = newest;
    const [c, v, w] = await Promise.all(
      (['c', 'v', 'w'] as const).map((kind) => folderOf(thread, kind, namespace)),
    );
    // Delete the checkpoints first: a checkpoint without its writes would be wrong.
    const names = new Set(unwanted.map(({ id }) => backwards(id)));
    await this.#space.remove({ paths: [...names].map((name) => c! + name) });
    const sources = await Promise.all(remaining.map((each) => this.#sources(each)));
    const writes = (await this.#storedWrites(remaining)).flat().map(({ value }) => value);
    const used = new Set(
      [...sources.flatMap((each) => [...each.values()]), ...writes].flatMap((s) => pathOf(v!, s)),
    );
    const paths: string[] = [];
    for await (const { path, modified_at } of this.#space.all({ prefix: v }))
      if (!used.has(path) && modified_at < newest.at) paths.push(path);
    for await (const { path } of this.#space.all({ prefix: w }))
      if (names.has(path.slice(w!.length).split('/')[0]!)) paths.push(path);
    await this.#space.remove({ paths });
  }

  /** Returns the channels that have a value in the checkpoint. */
  async stored(each: Stored, channels: Iterable<string>): Promise<string[]> {
    const sources = await this.#sources(each);
    const folder = await folderOf(each.thread, 'v', each.namespace);
    const named = [...channels].filter((channel) => sources.has(channel));
    if (each.values) return named;
    const found = await this.#space.read(named.flatMap((channel) => pathOf(folder, sources.get(channel)!)));
    return named.filter((channel) => pathOf(folder, sources.get(channel)!).every((path) => found.has(path)));
  }

  /**
   * Writes the files that `collect` adds. Skips files in `folder` that were already sent; their name is the hash of
   * their content.
   */
  async #send(folder: string, id: string, collect: (files: FileToWrite[]) => Promise<void>): Promise<void> {
    const recent = this.#recentOf(folder);
    const started = recent.turn.then(async () => {
      const files: FileToWrite[] = [];
      await collect(files);
      const unsent = files.filter(({ path }) => !recent.sent.has(path.slice(folder.length)));
      const writing = unsent.length > 0 ? this.#write(unsent) : Promise.resolve();
      for (const { path } of files) {
        if (!path.startsWith(folder)) continue;
        const hash = path.slice(folder.length);
        recent.sent.set(hash, { writing, ...recent.sent.get(hash), id });
        writing.catch(() => recent.sent.delete(hash));
      }
      return { writing };
    });
    recent.turn = started.catch(() => {});
    await (await started).writing;
  }

  #recentOf(folder: string): Recent {
    const recent = this.#recent.get(folder) ?? {
      values: new Map(),
      sent: new Map(),
      strings: new Map(),
      turn: Promise.resolve(),
    };
    this.#recent.delete(folder);
    this.#recent.set(folder, recent);
    if (this.#recent.size > MAX_RECENT) this.#recent.delete(this.#recent.keys().next().value!);
    return recent;
  }

  /** Replaces the remembered values with the large values of this checkpoint. */
  #remember(
    folder: string,
    { id, channel_versions }: Pick<Checkpoint, 'id' | 'channel_versions'>,
    values: Readonly<Record<string, Dumped>>,
  ): void {
    const recent = this.#recentOf(folder);
    recent.values.clear();
    for (const [channel, value] of Object.entries(values)) {
      if (value[2] !== 'file') continue;
      recent.values.set(versionKey(channel, channel_versions[channel]!), value);
      const writing = recent.sent.get(value[1])?.writing ?? Promise.resolve();
      recent.sent.set(value[1], { id, writing });
    }
    for (const [hash, sent] of recent.sent) if (sent.id < id) recent.sent.delete(hash);
    for (const [text, [, hash]] of recent.strings) if (!recent.sent.has(hash)) recent.strings.delete(text);
  }

  async #write(files: readonly FileToWrite[]): Promise<void> {
    await this.#writer.write(files);
    const decoder = new TextDecoder();
    await this.#pointers.keep(
      ...files.map(({ content }) => (typeof content === 'string' ? content : decoder.decode(content))),
    );
  }

  async #threads(): Promise<string[]> {
    const folders: string[] = [];
    let after: string | undefined;
    do {
      const page = await this.#space.list({ delimiter: '/', after });
      folders.push(...(page.prefixes ?? []));
      after = page.next;
    } while (after !== undefined);
    return folders;
  }

  async #parseCheckpoint(read: FileRead): Promise<Stored> {
    const file = parseCheckpointBytes(read.bytes);
    const isOld = file.values === undefined || Array.isArray(file.values);
    return {
      thread: file.thread_id,
      namespace: file.checkpoint_ns,
      id: file.checkpoint_id,
      parent: file.parent_id,
      deltas: file.delta_channels,
      ...(isOld ? { named: file.values ?? [] } : { values: file.values, named: Object.keys(file.values) }),
      checkpoint: await this.#loads(file.checkpoint),
      metadata: await this.#loads(file.metadata),
      at: read.file.modified_at,
    };
  }

  /** Returns where each value of a checkpoint is stored. A file of an old checkpoint may not exist. */
  async #sources(stored: Stored): Promise<Map<string, Source>> {
    if (stored.values) return new Map(Object.entries(stored.values));
    const folder = await folderOf(stored.thread, 'v', stored.namespace);
    const sources = Object.entries(stored.checkpoint.channel_versions ?? {}).map(
      async ([channel, version]) => {
        const path = `${folder}${await segment(channel)}/${await segment(String(version))}`;
        return [channel, { path }] as const;
      },
    );
    return new Map(await Promise.all(sources));
  }

  /** Returns the pending writes of each checkpoint. */
  async #storedWrites(places: readonly Place[]): Promise<StoredWrite[][]> {
    const folders = await Promise.all(
      places.map(({ thread, namespace }) => folderOf(thread, 'w', namespace)),
    );
    const names = places.map(({ id }) => backwards(id));
    const paths: string[] = [];
    for (const [folder, at] of Map.groupBy(places.keys(), (i) => folders[i]!))
      paths.push(...(await this.#writePaths(folder, at.map((i) => names[i]!).toSorted())));
    const found = await this.#space.read(paths);
    const byPlace = Map.groupBy(paths, (path) => path.split('/').slice(0, 4).join('/'));
    return names.map((name, i) =>
      (byPlace.get(folders[i]! + name) ?? []).flatMap((path) => {
        const file = found.get(path);
        if (!file) return [];
        const { task_id: task, channel, value, writes = [[channel, value]] } = JSON.parse(file.text());
        return writes.map(([channel, value]: [string, Dumped]) => ({ task, channel, value }));
      }),
    );
  }

  /**
   * Lists the paths of the writes in some folders. `names` are sorted folder names of checkpoints. Checkpoint ids grow
   * with time, so these folders are near each other. One listing from the first name to the last finds all of them.
   */
  async #writePaths(folder: string, names: readonly string[]): Promise<string[]> {
    const wantedNames = new Set(names);
    const paths: string[] = [];
    const [first, last] = [names[0]!, names.at(-1)!];
    const prefix = first === last ? `${folder}${first}/` : folder;
    for (let after: string | undefined = folder + first; after !== undefined; ) {
      const page = await this.#space.list({ prefix, after, limit: 2 * names.length + 10 });
      after = page.next;
      for (const { path } of page.files) {
        const name = path.slice(folder.length).split('/')[0]!;
        if (name > last) return paths;
        if (wantedNames.has(name)) paths.push(path);
      }
    }
    return paths;
  }

  /**
   * Parses pending writes. Skips a write that refers to a missing file: the file was not stored, so the write was
   * not acknowledged.
   */
  async #parseWrites(
    writes: readonly StoredWrite[],
    found: ReadonlyMap<string, FileRead>,
    folder: string,
  ): Promise<CheckpointPendingWrite[]> {
    const parsed = writes.map(async ({ task, channel, value }): Promise<CheckpointPendingWrite[]> => {
      const loaded = await this.#parse(value, found, folder);
      return loaded ? [[task, channel, loaded.parsed]] : [];
    });
    return (await Promise.all(parsed)).flat();
  }

  /** Parses a value. Returns undefined if the file of the value does not exist. */
  async #parse(
    source: Source,
    found: ReadonlyMap<string, FileRead>,
    folder: string,
  ): Promise<{ readonly parsed: unknown } | undefined> {
    const [path] = pathOf(folder, source);
    if (path === undefined) return { parsed: await this.#loads(source as Dumped) };
    const file = found.get(path);
    if (!file) return undefined;
    if ('path' in source) return { parsed: await this.#loads(JSON.parse(file.text())) };
    // A checkpoint and a write often have the same value. Only strings are shared, because other values can change.
    const [type] = source;
    const earlier = this.#parsed.get(file);
    const earlierValue = earlier?.type === type ? await earlier.value : undefined;
    if (typeof earlierValue === 'string') return { parsed: earlierValue };
    const value: Promise<unknown> = this.#serde.loadsTyped(type, file.bytes);
    this.#parsed.set(file, { type, value });
    return { parsed: await value };
  }

  /**
   * Serializes a value. Adds the file of a large value to `files`. With `mayBeBelow`, a value of up to `BELOW_BYTES`
   * that has no file yet is returned as bytes. The caller stores these bytes in the checkpoint's own file, below the
   * first line.
   */
  async #dumpValue(
    value: unknown,
    folder: string,
    recent: Recent,
    files: FileToWrite[],
    mayBeBelow = false,
  ): Promise<Dumped> {
    const cachedString = typeof value === 'string' ? recent.strings.get(value) : undefined;
    if (cachedString && recent.sent.has(cachedString[1])) return cachedString;
    const [type, bytes] = await this.#serde.dumpsTyped(value);
    if (bytes.byteLength <= INLINE_BYTES) return dumped(type, bytes);
    const fitsBelow = mayBeBelow && bytes.byteLength <= BELOW_BYTES;
    if (fitsBelow && recent.sent.size === 0) return [type, bytes];
    const hash = await sha256Hex(bytes as Uint8Array<ArrayBuffer>);
    if (fitsBelow && !recent.sent.has(hash)) return [type, bytes];
    files.push({ path: folder + hash, content: bytes, keep: 0 });
    const stored = [type, hash, 'file'] as const;
    if (typeof value === 'string') recent.strings.set(value, stored);
    return stored;
  }

  async #dump(value: unknown): Promise<Dumped> {
    const [type, bytes] = await this.#serde.dumpsTyped(value);
    return dumped(type, bytes);
  }

  async #loads<T>([type, data, encoding]: Dumped): Promise<T> {
    if (typeof data !== 'string') return this.#serde.loadsTyped(type, data);
    return this.#serde.loadsTyped(type, encoding === 'base64' ? fromBase64(data)! : encodeUtf8(data));
  }
}

function dumped(type: string, bytes: Uint8Array): Dumped {
  const text = decodeUtf8(bytes);
  return text === null ? [type, toBase64(bytes), 'base64'] : [type, text];
}

/**
 * Returns a checkpoint as a line of JSON and, below the line, the values that are bytes. In the line, each of these
 * values is replaced by its number of bytes.
 */
function checkpointBytes(file: { readonly values: Readonly<Record<string, Dumped>> }): Uint8Array {
  const below: Uint8Array[] = [];
  const values = Object.entries(file.values).map(([channel, value]) => {
    const [type, data] = value;
    if (typeof data === 'string') return [channel, value];
    below.push(data);
    return [channel, [type, data.byteLength]];
  });
  const line = JSON.stringify({ ...file, values: Object.fromEntries(values) });
  return concatBytes([encodeUtf8(`${line}\n`), ...below]);
}

/** Parses a checkpoint. Checkpoints of earlier versions have no bytes below the line. */
function parseCheckpointBytes(bytes: Uint8Array) {
  const lineEnd = bytes.indexOf(NEWLINE);
  let at = lineEnd < 0 ? bytes.byteLength : lineEnd;
  const file = JSON.parse(decodeUtf8(bytes.subarray(0, at))!);
  at++;
  for (const value of Object.values<unknown[]>(file.values ?? {})) {
    if (typeof value[1] !== 'number') continue;
    const end = at + value[1];
    value[1] = bytes.subarray(at, end);
    at = end;
  }
  return file;
}

/** Returns the path of the value's file, or nothing if the value has no file. */
function pathOf(folder: string, source: Source): string[] {
  if ('path' in source) return [source.path];
  return source[2] === 'file' ? [folder + source[1]] : [];
}

function versionKey(channel: string, version: number | string): string {
  return `${version} ${channel}`;
}

function json(path: string, content: unknown) {
  return { path, content: JSON.stringify(content), contentType: 'application/json', keep: 0 };
}

async function folderOf(thread: string, kind: 'c' | 'v' | 'w', namespace: string): Promise<string> {
  return `${await segment(thread)}/${kind}/${await segment(namespace)}/`;
}

/** Returns an index as part of a file name. Indexes of special channels are negative, so 1000 is added. */
function indexName(index: number): string {
  return String(index + 1000).padStart(8, '0');
}
