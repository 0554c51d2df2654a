import { channelStream, trimmedKey } from '../names.ts';
import { entriesBehind } from '../records.ts';
import { trimMessages } from './channel-storage.ts';
import type { Directory } from './directory.ts';
import type { Groups } from './groups.ts';
import { channelEntry, entryAt, TOMBSTONE } from './message.ts';
import type { ChannelDeps } from './settings.ts';

/**
 * Maximum number of appends between two checks of a channel for old messages, on average. A channel may exceed its
 * maximum number of messages by about this number.
 */
const EVERY_MAX = 64;
/** Maximum number of channels that one call of `sweepSome` sweeps. */
const SOME = 100;

/**
 * Deletes messages that a channel need not keep, in the background. It never deletes messages that a group
 * still needs.
 */
export class Retention {
  readonly #deps: ChannelDeps;
  readonly #directory: Directory;
  readonly #groups: Groups;
  readonly #every: number;
  /** The channel that was swept last, by tenant. */
  readonly #reached = new Map<string, string>();

  constructor(deps: ChannelDeps, directory: Directory, groups: Groups) {
    this.#deps = deps;
    this.#directory = directory;
    this.#groups = groups;
    this.#every = Math.min(EVERY_MAX, Math.max(1, Math.floor(deps.settings.messages / 16)));
  }

  /**
   * Called after each append. Starts a sweep with a small probability, instead of counting appends: a command that
   * appends one message and exits would never reach the count.
   */
  appended(tenant: string, channel: string): void {
    const chance = this.#deps.env.randomBytes(1)[0]! / 256;
    // Nothing depends on this sweep. If it fails, a later append starts another sweep.
    if (chance * this.#every < 1) this.#deps.engine.defer(() => this.#sweep(tenant, channel));
  }

  /**
   * Sweeps some channels of a tenant. It continues after the last channel of the previous call. A channel
   * that was unused for the whole retention is removed from the list.
   */
  async sweepSome(tenant: string): Promise<void> {
    const page = await this.#directory.list(tenant, { after: this.#reached.get(tenant), limit: SOME });
    for (const { name } of page.channels) {
      await this.sweepChannel(tenant, name);
      // Yield to the event loop. Some engines answer without yielding, so this loop could block all other
      // work.
      await new Promise((resolve) => setTimeout(resolve));
    }
    if (page.next === undefined) this.#reached.delete(tenant);
    else this.#reached.set(tenant, page.next);
  }

  async sweepChannel(tenant: string, channel: string): Promise<void> {
    await this.#sweep(tenant, channel);
    if (!(await this.#directory.hasGroups(tenant, channel))) await this.#closeUnused(tenant, channel);
  }

  /** Trims a channel. Several calls may run at the same time, in this process and in others. */
  async #sweep(tenant: string, channel: string): Promise<void> {
    const { logs } = this.#deps.engine;
    const stream = channelStream(tenant, channel);
    const cutoff = this.#deps.env.now() - this.#deps.settings.retentionMs;
    // Read `last` before the groups, and trim no message after it. A group that is created meanwhile may need
    // later messages.
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
    // If another process has trimmed the channel since its messages were counted, the count includes
    // deleted messages. A trim by this count would delete messages that must stay, so start again.
    if ((await logs.info(stream)).first !== first) return this.#sweep(tenant, channel);
    await trimMessages(this.#deps, tenant, channel, before);
  }

  /**
   * Removes an unused channel from the list. The last message of a log cannot be trimmed, so a tombstone is
   * appended first. If another message is appended before the tombstone, the channel stays in the list.
   */
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
    await this.#forget(tenant, channel, last);
  }

  /** Deletes all messages of a channel. Later messages continue its sequence, so that cursors stay valid. */
  async empty(tenant: string, channel: string): Promise<void> {
    const last = await this.#deps.engine.logs.append(channelStream(tenant, channel), TOMBSTONE);
    await trimMessages(this.#deps, tenant, channel, last!);
    await this.#forget(tenant, channel, last!);
  }

  async #forget(tenant: string, channel: string, last: number): Promise<void> {
    await this.#directory.forget(tenant, channel, last);
    await this.#deps.engine.records.delete(trimmedKey(tenant, channel));
  }
}
