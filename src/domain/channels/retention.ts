import { channelStream, trimmedKey } from '../names.ts';
import { entriesBehind } from '../records.ts';
import { trimMessages } from './channel-storage.ts';
import type { Directory } from './directory.ts';
import type { Groups } from './groups.ts';
import { channelEntry, entryAt, TOMBSTONE } from './message.ts';
import type { ChannelDeps } from './settings.ts';

/** At most one append in this many checks for old messages; a channel may exceed its size by about this number. */
const EVERY_MAX = 64;
/** Channels swept per call. */
const SOME = 100;

/** Deletes messages that a channel need not keep, in the background. It never deletes work that a group has not done. */
export class Retention {
  readonly #deps: ChannelDeps;
  readonly #directory: Directory;
  readonly #groups: Groups;
  readonly #every: number;
  /** Channels being swept because of an append. */
  readonly #running = new Set<string>();
  /** The last swept channel of each tenant. */
  readonly #reached = new Map<string, string>();

  constructor(deps: ChannelDeps, directory: Directory, groups: Groups) {
    this.#deps = deps;
    this.#directory = directory;
    this.#groups = groups;
    this.#every = Math.min(EVERY_MAX, Math.max(1, Math.floor(deps.settings.messages / 16)));
  }

  /**
   * Called after each append. It decides at random, not by a counter, so that commands that append once and exit do
   * their share.
   */
  appended(tenant: string, channel: string): void {
    const chance = this.#deps.env.randomBytes(1)[0]! / 256;
    const stream = channelStream(tenant, channel);
    if (chance * this.#every >= 1 || this.#running.has(stream)) return;
    this.#running.add(stream);
    // Nothing depends on it, and the next one tries again.
    this.#deps.engine.defer(() => this.#sweep(tenant, channel).finally(() => this.#running.delete(stream)));
  }

  /**
   * Sweeps some channels of a tenant, continuing where the last call ended. Channels unused for the whole retention
   * leave the list.
   */
  async sweepSome(tenant: string): Promise<void> {
    const page = await this.#directory.list(tenant, { after: this.#reached.get(tenant), limit: SOME });
    for (const { name } of page.channels) {
      await this.sweepChannel(tenant, name);
      // An engine may answer without yielding to the event loop.
      await new Promise((resolve) => setTimeout(resolve));
    }
    if (page.next === undefined) this.#reached.delete(tenant);
    else this.#reached.set(tenant, page.next);
  }

  async sweepChannel(tenant: string, channel: string): Promise<void> {
    await this.#sweep(tenant, channel);
    if (!(await this.#directory.hasGroups(tenant, channel))) await this.#closeUnused(tenant, channel);
  }

  /** Several may run at the same time, in this process and in others. */
  async #sweep(tenant: string, channel: string): Promise<void> {
    const { logs } = this.#deps.engine;
    const stream = channelStream(tenant, channel);
    const cutoff = this.#deps.env.now() - this.#deps.settings.retentionMs;
    // Read this before the groups: a group created meanwhile needs only later messages.
    const { count, first, last } = await logs.info(stream);
    const needed = Math.min(await this.#groups.sweep(tenant, channel, cutoff), last + 1);
    let excess = count - this.#deps.settings.messages;
    let before = 0;
    for await (const { seq, at } of entriesBehind(logs, stream, 0)) {
      if (seq >= needed || (excess <= 0 && at >= cutoff)) break;
      excess--;
      before = seq + 1;
    }
    if (before === 0) return;
    // If another process trimmed since the entries were counted, trimming by that count would drop messages that must
    // stay.
    if ((await logs.info(stream)).first !== first) return this.#sweep(tenant, channel);
    await trimMessages(this.#deps, tenant, channel, before);
  }

  /** The last message cannot be trimmed, so a tombstone replaces it, unless another append was faster. */
  async #closeUnused(tenant: string, channel: string): Promise<void> {
    const { logs } = this.#deps.engine;
    const stream = channelStream(tenant, channel);
    let { last } = await logs.info(stream);
    const newest = await entryAt(logs, stream, last);
    if (newest && newest.at >= this.#deps.env.now() - this.#deps.settings.retentionMs) return;
    if (newest && channelEntry(newest.data)) {
      const seq = await logs.append(stream, TOMBSTONE, { expectSeq: last });
      if (seq === null) return;
      last = seq;
      await trimMessages(this.#deps, tenant, channel, last);
    }
    await this.#directory.forget(tenant, channel, last);
    await this.#deps.engine.records.delete(trimmedKey(tenant, channel));
  }
}
