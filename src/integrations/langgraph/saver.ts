import type { RunnableConfig } from '@langchain/core/runnables';
import {
  BaseCheckpointSaver,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointPendingWrite,
  type CheckpointTuple,
  copyCheckpoint,
  getCheckpointId,
  isDeltaSnapshot,
  maxChannelVersion,
  type PendingWrite,
  type SerializerProtocol,
  TASKS,
  WRITES_IDX_MAP,
} from '@langchain/langgraph-checkpoint';
import { RelayError } from '../../base/errors.ts';
import type { ContextRelay } from '../../sdk/context-relay.ts';
import type { FileSpace, FileToWrite } from '../../sdk/files.ts';
import { backwards, segment } from '../file-names.ts';
import { writeFiles } from '../write-files.ts';
import { type CheckpointFile, deltaChannels, dump, load, type WriteFile } from './checkpoint-file.ts';

export interface ContextRelaySaverOptions {
  /** The space of files that the checkpoints are in; `langgraph` by default. */
  readonly space?: string;
  readonly serde?: SerializerProtocol;
}

/**
 * Checkpoints of LangGraph as files of a relay: graphs resume on any machine that reaches it. A checkpoint is one file and so
 * is each pending write: `<thread>/c/<namespace>/<checkpoint>` and `<thread>/w/<namespace>/<checkpoint>/<task>/<index>`. Names
 * of checkpoints sort the newest first.
 */
export class ContextRelaySaver extends BaseCheckpointSaver {
  readonly #files: FileSpace;

  constructor(relay: ContextRelay, { space = 'langgraph', serde }: ContextRelaySaverOptions = {}) {
    super(serde);
    this.#files = relay.files.space(space);
  }

  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const thread = threadOf(config, 'get a checkpoint');
    const folder = await folderOf(thread, 'c', config.configurable?.checkpoint_ns ?? '');
    const id = getCheckpointId(config);
    const path = id ? `${folder}${backwards(id)}` : await this.#first(folder);
    const file = path && (await this.#files.read([path])).get(path);
    return file ? this.#tuple(JSON.parse(file.text())) : undefined;
  }

  override async *list(
    config: RunnableConfig,
    { limit = Number.POSITIVE_INFINITY, before, filter }: CheckpointListOptions = {},
  ): AsyncGenerator<CheckpointTuple> {
    if (limit <= 0) return;
    const { thread_id, checkpoint_ns, checkpoint_id } = config.configurable ?? {};
    const end = before && getCheckpointId(before);
    let left = limit;
    for await (const file of this.#stored(thread_id, checkpoint_ns)) {
      if (checkpoint_id && file.checkpoint_id !== checkpoint_id) continue;
      if (end && file.checkpoint_id >= end) continue;
      if (filter) {
        const metadata = await load<Record<string, unknown>>(this.serde, file.metadata);
        if (!Object.entries(filter).every(([name, value]) => metadata[name] === value)) continue;
      }
      yield this.#tuple(file);
      if (--left === 0) return;
    }
  }

  override async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    _versions?: ChannelVersions,
  ): Promise<RunnableConfig> {
    const thread_id = threadOf(config, 'put a checkpoint');
    const checkpoint_ns = config.configurable?.checkpoint_ns ?? '';
    const snapshots = Object.entries(checkpoint.channel_values).flatMap(([name, value]) =>
      isDeltaSnapshot(value) ? [name] : [],
    );
    const delta_channels = [...new Set([...snapshots, ...deltaChannels(metadata)])];
    const file: CheckpointFile = {
      thread_id,
      checkpoint_ns,
      checkpoint_id: checkpoint.id,
      parent_id: config.configurable?.checkpoint_id,
      ...(delta_channels.length > 0 && { delta_channels }),
      channels: Object.entries(checkpoint.channel_values).flatMap(([name, value]) => (value === undefined ? [] : [name])),
      checkpoint: await dump(this.serde, copyCheckpoint(checkpoint)),
      metadata: await dump(this.serde, metadata),
    };
    const path = (await folderOf(thread_id, 'c', checkpoint_ns)) + backwards(checkpoint.id);
    await this.#files.put(path, JSON.stringify(file), { contentType: 'application/json', keep: 0 });
    return { configurable: { thread_id, checkpoint_ns, checkpoint_id: checkpoint.id } };
  }

  override async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string): Promise<void> {
    const thread = threadOf(config, 'put writes');
    const { checkpoint_ns = '', checkpoint_id } = config.configurable ?? {};
    if (checkpoint_id === undefined) throw missing('put writes', 'checkpoint_id');
    const folder = `${await folderOf(thread, 'w', checkpoint_ns)}${backwards(checkpoint_id)}/${await segment(taskId)}/`;
    const files = writes.map(async ([channel, value], i): Promise<FileToWrite> => {
      const index = WRITES_IDX_MAP[channel] ?? i;
      const file: WriteFile = { task_id: taskId, channel, value: await dump(this.serde, value) };
      return {
        path: folder + indexName(index),
        content: JSON.stringify(file),
        contentType: 'application/json',
        keep: 0,
        // Of an ordinary write the first one counts; errors, interrupts and resumptions are overwritten.
        ifAbsent: index >= 0,
      };
    });
    await writeFiles(this.#files, await Promise.all(files));
  }

  override async deleteThread(threadId: string): Promise<void> {
    await this.#files.remove({ prefix: `${await segment(threadId)}/` });
  }

  /**
   * Deletes checkpoints that are no longer needed. `keep_latest` keeps, for each namespace of a thread, the newest one and
   * those of its ancestors out of which channels that are stored as changes are put together; `delete` keeps nothing.
   */
  async prune(threadIds: readonly string[], { strategy }: { strategy: 'keep_latest' | 'delete' }): Promise<void> {
    for (const thread of threadIds) {
      if (strategy === 'delete') await this.deleteThread(thread);
      else await this.#keepLatest(thread);
    }
  }

  async #keepLatest(thread: string): Promise<void> {
    const namespaces = new Map<string, CheckpointFile[]>();
    for await (const file of this.#stored(thread)) {
      const { checkpoint, metadata, ...rest } = file;
      const known = namespaces.get(file.checkpoint_ns) ?? [];
      namespaces.set(file.checkpoint_ns, [...known, { ...rest, checkpoint: ['', ''], metadata: ['', ''] }]);
    }
    for (const [namespace, stored] of namespaces) {
      const kept = neededFor(stored);
      const [checkpoints, writes] = [await folderOf(thread, 'c', namespace), await folderOf(thread, 'w', namespace)];
      for (const { checkpoint_id } of stored) {
        if (kept.has(checkpoint_id)) continue;
        const name = backwards(checkpoint_id);
        // The checkpoint first: without its writes it would be another one.
        await this.#files.remove({ paths: [checkpoints + name] });
        await this.#files.remove({ prefix: `${writes}${name}/` });
      }
    }
  }

  async #first(folder: string): Promise<string | undefined> {
    return (await this.#files.list({ prefix: folder, limit: 1 })).files[0]?.path;
  }

  /** The newest first, within a namespace. */
  async *#stored(thread?: string, namespace?: string): AsyncGenerator<CheckpointFile> {
    if (thread === undefined) {
      for (const folder of await this.#folders('')) yield* this.#storedBelow(folder, namespace);
    } else yield* this.#storedBelow(`${await segment(thread)}/`, namespace);
  }

  async *#storedBelow(thread: string, namespace?: string): AsyncGenerator<CheckpointFile> {
    const prefix = namespace === undefined ? `${thread}c/` : `${thread}c/${await segment(namespace)}/`;
    let after: string | undefined;
    do {
      const page = await this.#files.list({ prefix, after, limit: PAGE });
      const paths = page.files.map(({ path }) => path);
      const found = await this.#files.read(paths);
      // One that was deleted in between is not there any more.
      for (const path of paths) if (found.has(path)) yield JSON.parse(found.get(path)!.text());
      after = page.next;
    } while (after !== undefined);
  }

  async #folders(prefix: string): Promise<string[]> {
    const folders: string[] = [];
    let after: string | undefined;
    do {
      const page = await this.#files.list({ prefix, delimiter: '/', after });
      folders.push(...(page.prefixes ?? []));
      after = page.next;
    } while (after !== undefined);
    return folders;
  }

  async #tuple(file: CheckpointFile): Promise<CheckpointTuple> {
    const { thread_id, checkpoint_ns, checkpoint_id, parent_id } = file;
    const checkpoint = await load<Checkpoint>(this.serde, file.checkpoint);
    if (checkpoint.v < 4 && parent_id !== undefined) await this.#takeSends(checkpoint, file, parent_id);
    return {
      config: { configurable: { thread_id, checkpoint_ns, checkpoint_id } },
      checkpoint,
      metadata: await load<CheckpointMetadata>(this.serde, file.metadata),
      pendingWrites: await this.#writes(thread_id, checkpoint_ns, checkpoint_id),
      ...(parent_id !== undefined && {
        parentConfig: { configurable: { thread_id, checkpoint_ns, checkpoint_id: parent_id } },
      }),
    };
  }

  async #writes(thread: string, namespace: string, id: string): Promise<CheckpointPendingWrite[]> {
    const prefix = `${await folderOf(thread, 'w', namespace)}${backwards(id)}/`;
    const paths: string[] = [];
    for await (const { path } of this.#files.all({ prefix })) paths.push(path);
    if (paths.length === 0) return [];
    const found = await this.#files.read(paths);
    const writes = paths.flatMap((path) => (found.has(path) ? [JSON.parse(found.get(path)!.text()) as WriteFile] : []));
    return Promise.all(
      writes.map(async ({ task_id, channel, value }) => [task_id, channel, await load(this.serde, value)] as const),
    ) as Promise<CheckpointPendingWrite[]>;
  }

  /** Before version 4 of checkpoints, what was sent to tasks stood among the writes of the parent alone. */
  async #takeSends(checkpoint: Checkpoint, file: CheckpointFile, parent: string): Promise<void> {
    const writes = await this.#writes(file.thread_id, file.checkpoint_ns, parent);
    const sends = writes.flatMap(([, channel, value]) => (channel === TASKS ? [value] : []));
    const versions = Object.values(checkpoint.channel_versions ?? {});
    checkpoint.channel_values = { ...checkpoint.channel_values, [TASKS]: sends };
    checkpoint.channel_versions = {
      ...checkpoint.channel_versions,
      [TASKS]: versions.length > 0 ? maxChannelVersion(...versions) : this.getNextVersion(undefined),
    };
  }
}

/** How many checkpoints are read at once while they are listed. */
const PAGE = 100;

/**
 * The newest checkpoint of a namespace, and its ancestors up to those that hold a whole value of each channel that is stored as
 * changes: without them the changes since would be all that is left. `stored` has the newest first.
 */
function neededFor(stored: readonly CheckpointFile[]): Set<string> {
  const byId = new Map(stored.map((file) => [file.checkpoint_id, file]));
  const deltas = new Set(stored.flatMap(({ delta_channels = [] }) => delta_channels));
  const needed = new Set<string>();
  for (let file = stored[0]; file; file = file.parent_id === undefined ? undefined : byId.get(file.parent_id)) {
    needed.add(file.checkpoint_id);
    for (const channel of file.channels) deltas.delete(channel);
    if (deltas.size === 0) break;
  }
  return needed;
}

async function folderOf(thread: string, kind: 'c' | 'w', namespace: string): Promise<string> {
  return `${await segment(thread)}/${kind}/${await segment(namespace)}/`;
}

/** Those of special channels are negative; a space of digits that sorts. */
function indexName(index: number): string {
  return String(index + 1000).padStart(8, '0');
}

function threadOf(config: RunnableConfig, doing: string): string {
  const thread = config.configurable?.thread_id;
  if (thread === undefined || thread === null || thread === '') throw missing(doing, 'thread_id');
  return String(thread);
}

function missing(doing: string, field: string): RelayError {
  return new RelayError('bad_request', {
    what: `To ${doing}, "${field}" has to be in "configurable" of the config.`,
    hint: 'Pass it: graph.invoke(input, { configurable: { thread_id: "1" } }).',
  });
}
