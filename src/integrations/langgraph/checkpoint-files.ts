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
import { RelayError } from '../../base/errors.ts';
import { decodeUtf8 } from '../../base/utf8.ts';
import type { FileRead, FileSpace, FileToWrite } from '../../sdk/files.ts';
import { backwards, segment, writeFiles } from '../file-names.ts';
import type { KeptPointers } from '../kept-pointers.ts';

/** A serialized value. Text stays readable in the file. */
type Dumped =
  | readonly [type: string, data: string]
  | readonly [type: string, data: string, encoding: 'base64'];

/** Identifies a checkpoint. */
export interface Place {
  readonly thread: string;
  readonly namespace: string;
  readonly id: string;
}

/** A stored checkpoint. Its values are in separate files, found by their versions. */
export interface Stored extends Place {
  readonly parent?: string;
  /** Channels stored as changes: their values are computed from the ancestors. */
  readonly deltas: readonly string[];
  /** Channels that have a value. Checkpoints of 0.2.0 and earlier lack it. */
  readonly values?: readonly string[];
  readonly checkpoint: Omit<Checkpoint, 'channel_values'>;
  readonly metadata: CheckpointMetadata;
  /** When it was written. */
  readonly at: string;
}

/** Checkpoints read per request while listing. */
const PAGE = 100;

/**
 * The files of a saver. For each thread and namespace:
 * - `<thread>/c/<namespace>/<checkpoint>`: a checkpoint without its values. The names sort newest first.
 * - `<thread>/v/<namespace>/<channel>/<version>`: a value of a channel, written once, whichever checkpoints use it.
 * - `<thread>/w/<namespace>/<checkpoint>/<task>/<index>`: a pending write.
 * A checkpoint is written after its values, in one step, so it exists with all of them or not at all.
 */
export class CheckpointFiles {
  readonly #space: FileSpace;
  readonly #serde: SerializerProtocol;
  readonly #pointers: KeptPointers;

  /** `pointers` extends the pointers that values name to the life of the values. */
  constructor(space: FileSpace, serde: SerializerProtocol, pointers: KeptPointers) {
    this.#space = space;
    this.#serde = serde;
    this.#pointers = pointers;
  }

  /** Without an id, returns the newest. */
  async get(thread: string, namespace: string, id?: string): Promise<Stored | undefined> {
    const folder = await folderOf(thread, 'c', namespace);
    const path = id
      ? folder + backwards(id)
      : (await this.#space.list({ prefix: folder, limit: 1 })).files[0]?.path;
    const file = path && (await this.#space.read([path])).get(path);
    return file ? this.#load(file) : undefined;
  }

  /** Yields the checkpoints of one thread or of all threads; within a namespace the newest first. */
  async *list(thread?: string, namespace?: string): AsyncGenerator<Stored> {
    const threads = thread === undefined ? await this.#threads() : [`${await segment(thread)}/`];
    const below = namespace === undefined ? 'c/' : `c/${await segment(namespace)}/`;
    for (const folder of threads) {
      let after: string | undefined;
      do {
        const page = await this.#space.list({ prefix: folder + below, after, limit: PAGE });
        const paths = page.files.map(({ path }) => path);
        const found = await this.#space.read(paths);
        // Skip a checkpoint that was deleted meanwhile.
        for (const path of paths) if (found.has(path)) yield this.#load(found.get(path)!);
        after = page.next;
      } while (after !== undefined);
    }
  }

  /** `changed` names the channels with a new version. Values of the others are already stored. */
  async put(
    { thread, namespace, id }: Place,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    parent: string | undefined,
    changed: ChannelVersions,
  ): Promise<void> {
    const { channel_values, ...rest } = checkpoint;
    const values = Object.entries(changed).flatMap(([channel, version]) => {
      const value = channel_values[channel];
      return value === undefined ? [] : [{ channel, version, value }];
    });
    const folder = await folderOf(thread, 'v', namespace);
    const files = values.map(async ({ channel, version, value }) =>
      json(folder + (await valueName(channel, version)), await this.#dump(value)),
    );
    await this.#write(await Promise.all(files));
    const snapshots = values.flatMap(({ channel, value }) => (isDeltaSnapshot(value) ? [channel] : []));
    const counted = Object.keys(metadata.counters_since_delta_snapshot ?? {});
    // A value that did not change since the parent is stored with an ancestor.
    const named = Object.keys(checkpoint.channel_versions).filter(
      (channel) =>
        channel_values[channel] !== undefined && (parent !== undefined || Object.hasOwn(changed, channel)),
    );
    const file = {
      thread_id: thread,
      checkpoint_ns: namespace,
      checkpoint_id: id,
      parent_id: parent,
      delta_channels: [...new Set([...snapshots, ...counted])],
      values: named,
      checkpoint: await this.#dump(rest),
      metadata: await this.#dump(metadata),
    };
    const { path, content, ...o } = json((await folderOf(thread, 'c', namespace)) + backwards(id), file);
    await this.#space.put(path, content, o);
  }

  /** Returns the values by channel; null if the checkpoint was deleted meanwhile. Throws if a value is missing. */
  async values(stored: Stored): Promise<Record<string, unknown> | null> {
    const { thread, namespace, id, checkpoint } = stored;
    const folder = await folderOf(thread, 'v', namespace);
    const versions = Object.entries(checkpoint.channel_versions ?? {});
    const paths = await Promise.all(
      versions.map(async ([channel, v]) => folder + (await valueName(channel, v))),
    );
    const found = await this.#space.read(paths);
    const values: Record<string, unknown> = {};
    for (const [i, [channel]] of versions.entries()) {
      const file = found.get(paths[i]!);
      if (file) values[channel] = await this.#parse(JSON.parse(file.text()));
    }
    const missing = stored.values?.find((channel) => !Object.hasOwn(values, channel));
    if (missing === undefined) return values;
    if (!(await this.get(thread, namespace, id))) return null;
    throw new RelayError('not_found', {
      what: `the value of the channel "${missing}" in the checkpoint ${id} of the thread "${thread}"`,
      hint: 'Continue from an older checkpoint of the thread, or delete the thread and start again.',
    });
  }

  async putWrites(
    { thread, namespace, id }: Place,
    writes: readonly PendingWrite[],
    task: string,
  ): Promise<void> {
    const folder = `${await folderOf(thread, 'w', namespace)}${backwards(id)}/${await segment(task)}/`;
    const files = writes.map(async ([channel, value], i): Promise<FileToWrite> => {
      const index = WRITES_IDX_MAP[channel] ?? i;
      const file = { task_id: task, channel, value: await this.#dump(value) };
      // For an ordinary write the first one counts; errors, interrupts and resumptions are overwritten.
      return { ...json(folder + indexName(index), file), ifAbsent: index >= 0 };
    });
    await this.#write(await Promise.all(files));
  }

  async writes({ thread, namespace, id }: Place): Promise<CheckpointPendingWrite[]> {
    const prefix = `${await folderOf(thread, 'w', namespace)}${backwards(id)}/`;
    const paths: string[] = [];
    for await (const { path } of this.#space.all({ prefix })) paths.push(path);
    const found = await this.#space.read(paths);
    const writes: CheckpointPendingWrite[] = [];
    for (const path of paths) {
      const file = found.get(path);
      if (!file) continue;
      const { task_id, channel, value } = JSON.parse(file.text());
      writes.push([task_id, channel, await this.#parse(value)]);
    }
    return writes;
  }

  async deleteThread(thread: string): Promise<void> {
    await this.#space.remove({ prefix: `${await segment(thread)}/` });
  }

  /** Deletes a checkpoint with its writes. The checkpoint goes first, because without its writes it would be wrong. */
  async delete({ thread, namespace, id }: Place): Promise<void> {
    await this.#space.remove({ paths: [(await folderOf(thread, 'c', namespace)) + backwards(id)] });
    await this.#space.remove({ prefix: `${await folderOf(thread, 'w', namespace)}${backwards(id)}/` });
  }

  /** Returns the paths of a namespace's values with the times they were written. */
  async valuePaths(thread: string, namespace: string): Promise<Map<string, string>> {
    const found = new Map<string, string>();
    const prefix = await folderOf(thread, 'v', namespace);
    for await (const { path, modified_at } of this.#space.all({ prefix })) found.set(path, modified_at);
    return found;
  }

  async valuePath({ thread, namespace, checkpoint }: Stored, channel: string): Promise<string> {
    const version = checkpoint.channel_versions[channel];
    return (
      (await folderOf(thread, 'v', namespace)) +
      (version === undefined ? '' : await valueName(channel, version))
    );
  }

  async deleteValues(paths: readonly string[]): Promise<void> {
    await this.#space.remove({ paths });
  }

  async #write(files: readonly FileToWrite[]): Promise<void> {
    await writeFiles(this.#space, files);
    await this.#pointers.keep(...files.map(({ content }) => String(content)));
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

  async #load(read: FileRead): Promise<Stored> {
    const file = JSON.parse(read.text());
    return {
      thread: file.thread_id,
      namespace: file.checkpoint_ns,
      id: file.checkpoint_id,
      parent: file.parent_id,
      deltas: file.delta_channels,
      values: file.values,
      checkpoint: await this.#parse(file.checkpoint),
      metadata: await this.#parse(file.metadata),
      at: read.file.modified_at,
    };
  }

  async #dump(value: unknown): Promise<Dumped> {
    const [type, bytes] = await this.#serde.dumpsTyped(value);
    const text = decodeUtf8(bytes);
    return text === null ? [type, toBase64(bytes), 'base64'] : [type, text];
  }

  async #parse<T>([type, data, encoding]: Dumped): Promise<T> {
    const bytes = encoding === 'base64' ? fromBase64(data)! : new TextEncoder().encode(data);
    return this.#serde.loadsTyped(type, bytes);
  }
}

function json(path: string, content: unknown) {
  return { path, content: JSON.stringify(content), contentType: 'application/json', keep: 0 };
}

async function folderOf(thread: string, kind: 'c' | 'v' | 'w', namespace: string): Promise<string> {
  return `${await segment(thread)}/${kind}/${await segment(namespace)}/`;
}

async function valueName(channel: string, version: number | string): Promise<string> {
  return `${await segment(channel)}/${await segment(String(version))}`;
}

/** Indexes of special channels are negative. */
function indexName(index: number): string {
  return String(index + 1000).padStart(8, '0');
}
