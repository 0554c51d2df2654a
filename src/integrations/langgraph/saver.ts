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
import { CheckpointFiles, type Loaded, type Place, type Stored } from './checkpoint-files.ts';

export interface ContextRelaySaverOptions {
  /** Space of the checkpoint files; `langgraph` by default. */
  readonly space?: string;
  readonly serde?: SerializerProtocol;
}

/** Stores LangGraph checkpoints as files of a relay. A graph can resume on any machine that can reach the relay. */
export class ContextRelaySaver extends BaseCheckpointSaver {
  /** Read by `contextrelay/langchain`: this saver renews the pointers in checkpoints. */
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
    if (!stored) await this.#files.forget(String(thread_id), checkpoint_ns);
    const loaded = stored && (await this.#files.loadToContinue(stored));
    return loaded && this.#tuple(loaded);
  }

  override async *list(
    config: RunnableConfig,
    { limit = Number.POSITIVE_INFINITY, before, filter }: CheckpointListOptions = {},
  ): AsyncGenerator<CheckpointTuple> {
    const { thread_id, checkpoint_ns, checkpoint_id } = config.configurable ?? {};
    const end = before && getCheckpointId(before);
    const conditions = Object.entries(filter ?? {});
    let left = limit;
    const pages = this.#files.pages(thread_id, checkpoint_ns, {
      before: end,
      limit: conditions.length > 0 || checkpoint_id ? undefined : limit,
    });
    if (left <= 0) return;
    for await (const page of pages) {
      const matching = page.filter(
        ({ id, metadata }) =>
          (!checkpoint_id || id === checkpoint_id) &&
          (!end || id < end) &&
          conditions.every(([name, value]) => (metadata as Record<string, unknown>)[name] === value),
      );
      for (const loaded of await this.#files.load(matching.slice(0, left))) {
        yield this.#tuple(loaded);
        left--;
      }
      if (left <= 0) return;
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

  /**
   * Returns the history of channels that are stored as changes. Throws if a needed ancestor is missing, because the
   * value would be wrong.
   */
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
   * Deletes checkpoints that threads no longer need. `keep_latest` keeps the newest checkpoint of each namespace, and
   * the ancestors from which its channels are computed. `delete` keeps nothing.
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
   * Returns the next version of a channel, with a random fraction. Two branches of a thread may continue from the
   * same version; the fraction keeps their versions apart.
   */
  override getNextVersion(current: number | undefined): number {
    const chance = systemEnv.randomBytes(6).reduce((sum, byte) => (sum + byte) / 256, 0);
    return Math.floor(current ?? 0) + 1 + chance;
  }

  /** Throws if an ancestor from which the channels are computed is missing. */
  async #checkAncestors(config: RunnableConfig, channels: readonly string[]): Promise<void> {
    const { thread_id, checkpoint_ns = '' } = config.configurable ?? {};
    const get = (id?: string) => this.#files.get(String(thread_id), checkpoint_ns, id);
    let oldest = await get(getCheckpointId(config) || undefined);
    for (let next = oldest; next; next = oldest?.parent ? await get(oldest.parent) : undefined) oldest = next;
    const lost = channels.find((channel) => oldest?.parent && channel in oldest.checkpoint.channel_versions);
    if (lost === undefined) return;
    throw new RelayError('not_found', {
      message: `The checkpoint ${oldest!.parent} of the thread "${thread_id}" is missing. The value of the channel "${lost}" cannot be computed without it.`,

      hint: 'Continue from an older checkpoint of the thread, or delete the thread and start again.',
    });
  }

  async #tuple({ stored, values, writes }: Loaded): Promise<CheckpointTuple> {
    const checkpoint: Checkpoint = { ...stored.checkpoint, channel_values: values };
    if (checkpoint.v < 4 && stored.parent !== undefined)
      await this.#takeSends(checkpoint, { ...stored, id: stored.parent });
    return {
      config: configOf(stored),
      checkpoint,
      metadata: stored.metadata,
      pendingWrites: writes,
      ...(stored.parent !== undefined && { parentConfig: configOf({ ...stored, id: stored.parent }) }),
    };
  }

  /**
   * Moves the sends in the parent's writes into the checkpoint. Checkpoint formats before version 4 stored sends only
   * in the parent's writes.
   */
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
 * Keeps the newest checkpoint of each namespace of a thread, and the ancestors that it needs. Deletes the other
 * checkpoints. Ancestors are needed to compute the channels that are stored as changes, back to their last full value.
 */
async function keepLatest(files: CheckpointFiles, thread: string): Promise<void> {
  const found: Stored[] = [];
  for await (const page of files.pages(thread)) found.push(...page);
  for (const stored of Map.groupBy(found, ({ namespace }) => namespace).values()) {
    const needed = await neededFor(stored, files);
    const unwanted = stored.filter((each) => !needed.has(each));
    await files.keepOnly([...needed], unwanted, stored[0]!);
  }
}

/**
 * Returns the newest checkpoint and the ancestors from which its channels are computed. `stored` is sorted newest
 * first. Stops at a missing ancestor, because older ancestors are then useless.
 */
async function neededFor(stored: readonly Stored[], files: CheckpointFiles): Promise<Set<Stored>> {
  const byId = new Map(stored.map((each) => [each.id, each]));
  const unseen = new Set(stored.flatMap(({ deltas }) => deltas));
  const needed = new Set<Stored>();
  for (let at = stored[0]; at; at = at.parent === undefined ? undefined : byId.get(at.parent)) {
    needed.add(at);
    for (const channel of await files.stored(at, unseen)) unseen.delete(channel);
    if (unseen.size === 0) break;
  }
  return needed;
}
