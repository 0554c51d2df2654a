import type { ChannelInfo, ChannelPage } from '../../contract/channels.ts';
import { channelKey, channelStream, channelsPrefix, fromSegment, groupsPrefix } from '../names.ts';
import { allRecords } from '../records.ts';
import { channelEntry, entryAt } from './message.ts';
import type { ChannelDeps } from './settings.ts';

/**
 * The list of a tenant's channels. A channel is added to the list after its first message or with its first
 * group.
 */
export class Directory {
  readonly #deps: ChannelDeps;

  constructor(deps: ChannelDeps) {
    this.#deps = deps;
  }

  /**
   * Adds a channel to the list. Call it after a message was appended, never before, because `forget` relies
   * on this order.
   */
  async note(tenant: string, channel: string): Promise<void> {
    const { engine, env } = this.#deps;
    const key = channelKey(tenant, channel);
    // Read before writing: most channels are already listed, and a read, unlike a write, does not wait for
    // the disk.
    if ((await engine.records.get(key)) === null)
      await engine.records.put(key, { created: env.now() }, { expect: 'absent' });
  }

  /**
   * Removes an unused channel from the list. `last` is the newest sequence of the channel when it was found
   * unused. If a message is appended after the removal, the append lists the channel again. If a message was
   * appended before the removal, the newest sequence is no longer `last`, and the channel is listed again
   * here.
   */
  async forget(tenant: string, channel: string, last: number): Promise<void> {
    const { records, logs } = this.#deps.engine;
    const key = channelKey(tenant, channel);
    await records.delete(key);
    if ((await logs.info(channelStream(tenant, channel))).last !== last) await this.note(tenant, channel);
  }

  async list(tenant: string, o: { after?: string; limit?: number } = {}): Promise<ChannelPage> {
    const prefix = channelsPrefix(tenant);
    const after = o.after === undefined ? undefined : channelKey(tenant, o.after);
    const page = await this.#deps.engine.records.list(prefix, { after, limit: o.limit });
    const names = page.items.map((item) => fromSegment(item.key.slice(prefix.length)));
    const channels = await Promise.all(names.map((name) => this.info(tenant, name)));
    return { channels, ...(page.next === undefined ? {} : { next: names.at(-1)! }) };
  }

  async has(tenant: string, channel: string): Promise<boolean> {
    return (await this.#deps.engine.records.get(channelKey(tenant, channel))) !== null;
  }

  /** Returns the names of the channels that begin with `start`. */
  beginningWith(tenant: string, start: string): Promise<string[]> {
    const listed = allRecords(this.#deps.engine.records, channelKey(tenant, start));
    return Array.fromAsync(listed, ({ key }) => fromSegment(key.slice(channelsPrefix(tenant).length)));
  }

  async info(tenant: string, channel: string): Promise<ChannelInfo> {
    const { logs } = this.#deps.engine;
    const stream = channelStream(tenant, channel);
    const { last, count } = await logs.info(stream);
    const newest = await entryAt(logs, stream, last);
    const message = newest && channelEntry(newest.data) ? newest : null;
    return {
      name: channel,
      messages: message ? count : 0,
      last_seq: last,
      last_at: message ? new Date(message.at).toISOString() : null,
      groups: await this.groups(tenant, channel),
    };
  }

  groups(tenant: string, channel: string): Promise<string[]> {
    const prefix = groupsPrefix(tenant, channel);
    const listed = allRecords(this.#deps.engine.records, prefix);
    return Array.fromAsync(listed, ({ key }) => fromSegment(key.slice(prefix.length)));
  }

  async hasGroups(tenant: string, channel: string): Promise<boolean> {
    const page = await this.#deps.engine.records.list(groupsPrefix(tenant, channel), { limit: 1 });
    return page.items.length > 0;
  }
}
