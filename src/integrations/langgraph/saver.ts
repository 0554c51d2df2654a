import type { RunnableConfig } from '@langchain/core/runnables';
import {
  BaseCheckpointSaver,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointTuple,
  getCheckpointId,
  maxChannelVersion,
  type PendingWrite,
  type SerializerProtocol,
  TASKS,
} from '@langchain/langgraph-checkpoint';
import { systemEnv } from '../../base/env.ts';
import { badRequest, RelayError } from '../../base/errors.ts';
import type { ContextRelay } from '../../sdk/context-relay.ts';
import { KeptPointers } from '../kept-pointers.ts';
import { CheckpointFiles, type Place, type Stored } from './checkpoint-files.ts';

export interface ContextRelaySaverOptions {
  /** Space of the checkpoint files; `langgraph` by default. */
  readonly space?: string;
  readonly serde?: SerializerProtocol;
}

/** Stores LangGraph checkpoints as files of a relay: graphs resume on any machine that reaches it. */
export class ContextRelaySaver extends BaseCheckpointSaver {
  /** The saver renews pointers that checkpoints name, so they live as long as the checkpoints. */
  readonly keepsPointers = true;
  readonly #files: CheckpointFiles;

  constructor(relay: ContextRelay, { space = 'langgraph', serde }: ContextRelaySaverOptions = {}) {
    super(serde);
    this.#files = new CheckpointFiles(relay.files.space(space), this.serde, new KeptPointers(relay));
  }

  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const { thread_id, checkpoint_ns = '' } = config.configurable ?? {};
    if (thread_id === undefined) return undefined;
    const stored = await this.#files.get(String(thread_id), checkpoint_ns, getCheckpointId(config));
    return stored && this.#tuple(stored);
  }

  override async *list(
    config: RunnableConfig,
    { limit = Number.POSITIVE_INFINITY, before, filter }: CheckpointListOptions = {},
  ): AsyncGenerator<CheckpointTuple> {
    const { thread_id, checkpoint_ns, checkpoint_id } = config.configurable ?? {};
    const end = before && getCheckpointId(before);
    const wanted = Object.entries(filter ?? {});
    let left = limit;
    for await (const stored of this.#files.list(thread_id, checkpoint_ns)) {
      if (left <= 0) return;
      if (checkpoint_id && stored.id !== checkpoint_id) continue;
      if (end && stored.id >= end) continue;
      const metadata = stored.metadata as Record<string, unknown>;
      if (!wanted.every(([name, value]) => metadata[name] === value)) continue;
      const tuple = await this.#tuple(stored);
      if (!tuple) continue;
      left--;
      yield tuple;
    }
  }

  override async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    const { checkpoint_ns: namespace = '', checkpoint_id: parent } = config.configurable ?? {};
    const place = { thread: threadOf(config, 'put a checkpoint'), namespace, id: checkpoint.id };
    await this.#files.put(place, checkpoint, metadata, parent, newVersions);
    return configOf(place);
  }

  override async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string): Promise<void> {
    const { checkpoint_ns = '', checkpoint_id } = config.configurable ?? {};
    const thread = threadOf(config, 'put writes');
    if (checkpoint_id === undefined) throw missing('put writes', 'checkpoint_id');
    await this.#files.putWrites({ thread, namespace: checkpoint_ns, id: checkpoint_id }, writes, taskId);
  }

  /** Throws if a missing ancestor had a part of a channel stored as changes, because its value would be wrong. */
  override async getDeltaChannelHistory(
    o: Parameters<BaseCheckpointSaver['getDeltaChannelHistory']>[0],
  ): ReturnType<BaseCheckpointSaver['getDeltaChannelHistory']> {
    const found = await super.getDeltaChannelHistory(o);
    const unseeded = Object.keys(found).filter((channel) => !('seed' in found[channel]!));
    if (unseeded.length > 0) await this.#checkAncestors(o.config, unseeded);
    return found;
  }

  override async deleteThread(threadId: string): Promise<void> {
    await this.#files.deleteThread(threadId);
  }

  /**
   * Deletes what threads no longer need. `keep_latest` keeps, per namespace, the newest checkpoint and the ancestors
   * that its channels stored as changes are computed from; `delete` keeps nothing.
   */
  async prune(
    threadIds: readonly string[],
    { strategy }: { readonly strategy: 'keep_latest' | 'delete' },
  ): Promise<void> {
    for (const thread of threadIds) {
      if (strategy === 'delete') await this.deleteThread(thread);
      else await keepLatest(this.#files, thread);
    }
  }

  /**
   * Returns the next version with a random fraction. Values are stored by version, and branches of a thread continue
   * from the same one, so the fraction keeps their versions apart.
   */
  override getNextVersion(current: number | undefined): number {
    const chance = systemEnv.randomBytes(6).reduce((sum, byte) => (sum + byte) / 256, 0);
    return Math.floor(current ?? 0) + 1 + chance;
  }

  /** Throws if a needed ancestor is missing. */
  async #checkAncestors(config: RunnableConfig, channels: readonly string[]): Promise<void> {
    const { thread_id, checkpoint_ns = '' } = config.configurable ?? {};
    const get = (id?: string) => this.#files.get(String(thread_id), checkpoint_ns, id);
    let oldest = await get(getCheckpointId(config) || undefined);
    for (let next = oldest; next; next = oldest?.parent ? await get(oldest.parent) : undefined) oldest = next;
    const lost = channels.find((channel) => oldest?.parent && channel in oldest.checkpoint.channel_versions);
    if (lost === undefined) return;
    throw new RelayError('not_found', {
      what: `the checkpoint ${oldest!.parent} of the thread "${thread_id}", which the value of the channel "${lost}" depends on,`,
      hint: 'Continue from an older checkpoint of the thread, or delete the thread and start again.',
    });
  }

  async #tuple(stored: Stored): Promise<CheckpointTuple | undefined> {
    const [channel_values, pendingWrites] = await Promise.all([
      this.#files.values(stored),
      this.#files.writes(stored),
    ]);
    if (!channel_values) return undefined;
    const checkpoint: Checkpoint = { ...stored.checkpoint, channel_values };
    if (checkpoint.v < 4 && stored.parent !== undefined)
      await this.#takeSends(checkpoint, { ...stored, id: stored.parent });
    return {
      config: configOf(stored),
      checkpoint,
      metadata: stored.metadata,
      pendingWrites,
      ...(stored.parent !== undefined && { parentConfig: configOf({ ...stored, id: stored.parent }) }),
    };
  }

  /** Before version 4 of checkpoints, sends to tasks were only among the parent's writes. */
  async #takeSends(checkpoint: Checkpoint, parent: Place): Promise<void> {
    const writes = await this.#files.writes(parent);
    const sends = writes.flatMap(([, channel, value]) => (channel === TASKS ? [value] : []));
    const versions = Object.values(checkpoint.channel_versions ?? {});
    const version = versions.length > 0 ? maxChannelVersion(...versions) : this.getNextVersion(undefined);
    checkpoint.channel_values = { ...checkpoint.channel_values, [TASKS]: sends };
    checkpoint.channel_versions = { ...checkpoint.channel_versions, [TASKS]: version };
  }
}

function configOf({ thread, namespace, id }: Place): RunnableConfig {
  return { configurable: { thread_id: thread, checkpoint_ns: namespace, checkpoint_id: id } };
}

function threadOf(config: RunnableConfig, doing: string): string {
  const thread = config.configurable?.thread_id;
  if (thread === undefined || thread === null || thread === '') throw missing(doing, 'thread_id');
  return String(thread);
}

function missing(doing: string, field: string): RelayError {
  return badRequest(
    `"${field}" is missing in "configurable" of the config; it is needed to ${doing}.`,
    'Pass it: graph.invoke(input, { configurable: { thread_id: "1" } }).',
  );
}

/**
 * Keeps, per namespace of a thread, the newest checkpoint and what it needs. A channel stored as changes is computed
 * from its ancestors, so those up to the last full value stay, with their writes.
 */
async function keepLatest(files: CheckpointFiles, thread: string): Promise<void> {
  const namespaces = new Map<string, Stored[]>();
  for await (const stored of files.list(thread))
    namespaces.set(stored.namespace, [...(namespaces.get(stored.namespace) ?? []), stored]);
  for (const [namespace, stored] of namespaces) {
    const values = await files.valuePaths(thread, namespace);
    const kept = await neededFor(stored, files, values);
    for (const each of stored) if (!kept.has(each)) await files.delete(each);
    const used = new Set<string>();
    for (const each of kept) {
      for (const channel of Object.keys(each.checkpoint.channel_versions))
        used.add(await files.valuePath(each, channel));
    }
    // Values younger than the newest checkpoint may belong to one that is being written.
    const newest = stored[0]!.at;
    const unused = [...values].filter(([path, at]) => !used.has(path) && at < newest);
    await files.deleteValues(unused.map(([path]) => path));
  }
}

/** `stored` has the newest first. If an ancestor is missing, nothing older is needed. */
async function neededFor(
  stored: readonly Stored[],
  files: CheckpointFiles,
  values: ReadonlyMap<string, string>,
): Promise<Set<Stored>> {
  const byId = new Map(stored.map((each) => [each.id, each]));
  const unseen = new Set(stored.flatMap(({ deltas }) => deltas));
  const needed = new Set<Stored>();
  for (let at = stored[0]; at; at = at.parent === undefined ? undefined : byId.get(at.parent)) {
    needed.add(at);
    for (const channel of unseen) if (values.has(await files.valuePath(at, channel))) unseen.delete(channel);
    if (unseen.size === 0) break;
  }
  return needed;
}
