import { badRequest, RelayError, tooLarge } from '../../base/errors.ts';
import { sha256Hex } from '../../base/hash.ts';
import { checkIdempotencyKey, toHex } from '../../base/ids.ts';
import { isTooDeep, type Json, type JsonObject } from '../../base/json.ts';
import { JSON_DEPTH, SIGNAL_BYTES, TICKET_TTL_MS } from '../../base/limits.ts';
import { mayUseChannel } from '../../contract/authorize.ts';
import { type Caller, type CallerAt, doneBy, sentBy } from '../../contract/caller.ts';
import {
  type ChannelDetail,
  type ChannelPage,
  isPattern,
  type Message,
  type Published,
  type Since,
  type SubscribeOptions,
} from '../../contract/channels.ts';
import type { Entry } from '../../kernel/logs.ts';
import type { AnnouncingEntry } from '../../kernel/records.ts';
import { channelStream, checkChannelName, checkCount, deadLetterChannel } from '../names.ts';
import { entriesBehind, type RecordsOf, recordsOf } from '../records.ts';
import { type AppendedAs, appendMessage, bytesOfChannel, messageBytes } from './channel-storage.ts';
import { DelayedMessages } from './delayed-messages.ts';
import { Directory } from './directory.ts';
import { Groups } from './groups.ts';
import { channelEntry, entryAt, toMessage } from './message.ts';
import { findStart, ReaderView, type Start } from './reader.ts';
import { Retention } from './retention.ts';
import type { ChannelDeps, ChannelSettings } from './settings.ts';
import { checkPattern, followPattern } from './wildcards.ts';

/** The parts of a pointer that a channel announces. */
interface Announced {
  readonly id: string;
  readonly metadata: JsonObject;
  readonly sealed_key: string | null;
}

/**
 * Interval in ms at which a process without a server publishes delayed messages that are due. The messages may come
 * from other processes.
 */
const RELEASE_EVERY_MS = 5_000;

/** Named streams of messages that can be replayed. */
export class Channels {
  readonly settings: ChannelSettings;
  readonly groups: Groups;
  readonly delayed: DelayedMessages;
  readonly #deps: ChannelDeps;
  readonly #directory: Directory;
  readonly #retention: Retention;
  readonly #tickets: RecordsOf<Caller>;
  /** Without a server: resolves when the messages that were due at the start are published. */
  readonly #released: Promise<void> | null = null;
  readonly #releasing: ReturnType<typeof setInterval> | null = null;
  /** Tenants that have used a channel in this process. Their channels are swept. */
  readonly #tenants = new Set<string>();

  constructor(deps: ChannelDeps) {
    this.settings = deps.settings;
    this.#deps = deps;
    this.#directory = new Directory(deps);
    this.groups = new Groups(deps, this.#directory);
    this.#retention = new Retention(deps, this.#directory, this.groups);
    this.#tickets = recordsOf(deps.engine.records);
    this.delayed = new DelayedMessages(deps, ({ tenant, channel, entry, id }) =>
      this.#append(tenant, channel, entry, { id, again: true }),
    );
    if (!deps.releasesDelayed) return;
    const release = () => this.delayed.release().catch(() => {}); // If this fails, the next interval tries again.
    this.#released = release();
    this.#releasing = setInterval(release, RELEASE_EVERY_MS);
    this.#releasing.unref?.();
  }

  /**
   * Announces a pointer on a channel, at most once. The log entry contains the pointer's id. Each server
   * adds its own URL of the pointer when it sends the message to subscribers. `again` is true if the
   * pointer may have been announced before.
   */
  async announce(caller: Caller, channel: string, pointer: Announced, o: { again: boolean }): Promise<void> {
    const as = { id: announcementId(pointer), again: o.again };
    await this.#append(caller.tenant, channel, announcement(caller, pointer), as);
  }

  /**
   * Announces a pointer in the same commit in which `write` writes the pointer's record. Returns null if
   * `write` wrote no record. `again` is true if the push may be a retry.
   */
  async announceWith(
    { tenant, ...caller }: Caller,
    channel: string,
    pointer: Announced,
    o: { again: boolean },
    write: (entry: AnnouncingEntry) => Promise<number | null>,
  ): Promise<number | null> {
    const data = announcement(caller, pointer);
    const id = o.again ? announcementId(pointer) : undefined;
    const entry = { stream: channelStream(tenant, channel), data, id };
    const { storage } = this.#deps;
    const written = await storage.counted(
      tenant,
      messageBytes(data),
      () => write(entry),
      (put) => put !== null,
    );
    if (written !== null) await this.#appended(tenant, channel);
    return written;
  }

  /** Rejects with `over_storage` if the plan has no room for the announcement. */
  admit(caller: Caller, pointer: Announced): Promise<void> {
    return this.#deps.storage.admit(caller.tenant, messageBytes(announcement(caller, pointer)));
  }

  async publish(
    caller: Caller,
    name: string,
    msg: Json,
    o: { idempotency_key?: string; reply_to?: number; after?: number } = {},
  ): Promise<Published> {
    const channel = checkChannelName(name);
    checkSignal(msg);
    const key = checkIdempotencyKey(o.idempotency_key);
    const { tenant } = caller;
    const signal: JsonObject = { msg, ...sentBy(caller) };
    if (o.reply_to !== undefined)
      signal.reply_to = checkCount('reply_to', o.reply_to, Number.MAX_SAFE_INTEGER);
    await this.#deps.storage.admit(tenant, messageBytes(signal));
    if (o.after !== undefined) {
      const due = await this.delayed.add(o.after, { tenant, channel, entry: signal }, key);
      return { channel, seq: 0, ts: due };
    }
    const seq = await this.#append(tenant, channel, signal, key ? { id: `sig:${key}`, again: true } : {});
    const entry = await this.#entry(tenant, channel, seq);
    if (key && entry && JSON.stringify(channelEntry(entry.data)?.msg) !== JSON.stringify(msg)) {
      throw new RelayError('idempotency_conflict');
    }
    this.#deps.activity.note(tenant, { kind: 'channel.signal', ...doneBy(caller), channel, seq });
    return { channel, seq, ts: entry?.at ?? this.#deps.env.now() };
  }

  async *subscribe(caller: CallerAt, name: string, o: SubscribeOptions = {}): AsyncGenerator<Message> {
    const { base } = caller;
    const channel = checkChannelName(name);
    const signal = o.signal ?? new AbortController().signal;
    if (await this.isPattern(caller, channel, o)) {
      yield* followPattern(this, caller, channel, { since: o.since, signal });
      return;
    }
    if (o.group === undefined) {
      const start = await this.start(caller.tenant, channel, o.since);
      const view = this.view(start);
      for await (const entry of this.follow(caller.tenant, channel, start.after, signal)) {
        const seen = view.see(entry);
        if (seen) yield toMessage(seen, base)!;
      }
      return;
    }
    const work = this.groups.work(caller, channel, o.group, { ...o, signal });
    for await (const { entry, token, attempt, until } of work) {
      const message = toMessage(entry, base);
      if (message) yield { ...message, token, attempt, lease_until: until };
    }
  }

  /**
   * Returns whether a subscription is a pattern, which follows all channels that match it. It is a pattern if the name
   * has wildcards and the caller has no channel with exactly this name.
   */
  async isPattern(
    caller: Caller,
    name: string,
    { group, since }: Pick<SubscribeOptions, 'group' | 'since'>,
  ): Promise<boolean> {
    if (!isPattern(name)) return false;
    const isChannel = mayUseChannel(caller, name) && (await this.#directory.has(caller.tenant, name));
    if (!isChannel && group !== undefined)
      throw badRequest('A group needs the name of one channel, without wildcards.');
    if (!isChannel) await checkPattern(this, caller, name, since);
    return !isChannel;
  }

  async list(caller: Caller, o?: { after?: string; limit?: number }): Promise<ChannelPage> {
    const page = await this.#directory.list(caller.tenant, o);
    return { ...page, channels: page.channels.filter(({ name }) => mayUseChannel(caller, name)) };
  }

  beginningWith(caller: Caller, start: string): Promise<string[]> {
    return this.#directory.beginningWith(caller.tenant, start);
  }

  async inspect(caller: Caller, name: string): Promise<ChannelDetail> {
    const channel = checkChannelName(name);
    const { groups, ...info } = await this.#directory.info(caller.tenant, channel);
    const { first } = await this.#deps.engine.logs.info(channelStream(caller.tenant, channel));
    const details = await Promise.all(groups.map((group) => this.groups.detail(caller, channel, group)));
    const { letters } = await this.groups.deadLetters.deadLetters({ ...caller, base: '' }, channel);
    return { ...info, first_seq: first, dead: letters.length, groups: details };
  }

  async remove(caller: Caller, name: string): Promise<void> {
    const channel = checkChannelName(name);
    if (!(await this.#directory.has(caller.tenant, channel)))
      throw new RelayError('not_found', {
        what: `the channel ${JSON.stringify(channel)}`,
        hint: 'List the channels with: relay channels',
      });
    for (const group of await this.#directory.groups(caller.tenant, channel))
      await this.groups.removeGroup(caller, channel, group);
    await this.#retention.empty(caller.tenant, channel);
    const letters = deadLetterChannel(channel);
    if (letters !== null && (await this.#directory.has(caller.tenant, letters)))
      await this.remove(caller, letters);
  }

  async position(caller: Caller, name: string): Promise<number> {
    const stream = channelStream(caller.tenant, checkChannelName(name));
    return (await this.#deps.engine.logs.info(stream)).last;
  }

  /**
   * Creates a ticket that replaces an API key when a client opens a WebSocket. It can be used once, within
   * half a minute, at every server of the store.
   */
  async ticket({
    base: _,
    onRead: __,
    ...caller
  }: CallerAt): Promise<{ ticket: string; expires_at: string }> {
    const { env } = this.#deps;
    const ticket = toHex(env.randomBytes(24));
    const expiresAt = env.now() + TICKET_TTL_MS;
    await this.#tickets.put(await ticketKey(ticket), caller, { expiresAt });
    return { ticket, expires_at: new Date(expiresAt).toISOString() };
  }

  /**
   * Returns the caller that created a ticket. Returns null if the ticket was used, has expired or is unknown.
   */
  async redeem(ticket: string): Promise<Caller | null> {
    const key = await ticketKey(ticket);
    const stored = await this.#tickets.get(key);
    return stored && (await this.#tickets.delete(key)) ? stored.value : null;
  }

  /**
   * Returns whether a channel has groups. If it has, each push to the channel is work for the groups, so the
   * pointer of the push must exist at least as long as the message.
   */
  hasGroups(tenant: string, channel: string): Promise<boolean> {
    return this.#directory.hasGroups(tenant, channel);
  }

  /**
   * Returns the id of the pointer that a message announces. Returns null for a signal and for a trimmed
   * message.
   */
  async pointerOf(tenant: string, channel: string, seq: number): Promise<string | null> {
    const entry = await this.#entry(tenant, channel, seq);
    return (entry && channelEntry(entry.data)?.pointer) ?? null;
  }

  /** Returns the position at which a reader of a channel starts. */
  async start(tenant: string, channel: string, since: Since | undefined): Promise<Start> {
    this.#tenants.add(tenant);
    await this.#released;
    return findStart(this.#deps.engine.logs, channelStream(tenant, channel), since);
  }

  view(start: Start): ReaderView {
    return new ReaderView(this.#deps.env, this.settings.retentionMs, start);
  }

  /** Yields the stored messages after the sequence `after`. Does not wait for new messages. */
  async *messages({ tenant, base }: CallerAt, channel: string, after: number): AsyncGenerator<Message> {
    const view = this.view({ after, gap: false, lenient: false });
    for await (const entry of this.#entries(tenant, channel, after)) {
      const seen = view.see(entry);
      if (seen) yield toMessage(seen, base)!;
    }
  }

  /** Yields the pointers that were announced after the sequence `after`. */
  async *announced(
    tenant: string,
    channel: string,
    after: number,
  ): AsyncGenerator<{ seq: number; id: string }> {
    for await (const { seq, data } of this.#entries(tenant, channel, after)) {
      const id = channelEntry(data)?.pointer;
      if (id !== undefined) yield { seq, id };
    }
  }

  /** Reads a page of log entries. The caller filters them with a `ReaderView`. */
  async read(tenant: string, channel: string, after: number): Promise<Entry[]> {
    await this.#released;
    return (await this.#deps.engine.logs.read(channelStream(tenant, channel), { after })).entries;
  }

  follow(tenant: string, channel: string, after: number, signal: AbortSignal): AsyncIterable<Entry> {
    return this.#deps.engine.logs.subscribe(channelStream(tenant, channel), { after, signal });
  }

  /** Returns the size of all messages of a channel, in bytes. */
  bytesOf(tenant: string, channel: string): Promise<number> {
    return bytesOfChannel(this.#deps, tenant, channel);
  }

  /**
   * Deletes messages that channels need not keep, and removes unused channels from the list. Servers call this
   * method regularly.
   */
  async sweep(tenants: Iterable<string> = []): Promise<void> {
    for (const tenant of tenants) this.#tenants.add(tenant);
    for (const tenant of this.#tenants) await this.#retention.sweepSome(tenant);
  }

  /** Sweeps one channel. Used with engines in which each channel sweeps itself. */
  sweepChannel(tenant: string, channel: string): Promise<void> {
    return this.#retention.sweepChannel(tenant, channel);
  }

  close(): Promise<void> {
    if (this.#releasing) clearInterval(this.#releasing);
    return this.groups.close();
  }

  /** Appends a message and resolves when it is durable, without waiting for subscribers. */
  async #append(tenant: string, channel: string, entry: JsonObject, as: AppendedAs): Promise<number> {
    const seq = await appendMessage(this.#deps, tenant, channel, entry, as);
    await this.#appended(tenant, channel);
    return seq;
  }

  async #appended(tenant: string, channel: string): Promise<void> {
    this.#tenants.add(tenant);
    await this.#directory.note(tenant, channel);
    this.#retention.appended(tenant, channel);
  }

  #entries(tenant: string, channel: string, after: number): AsyncIterable<Entry> {
    return entriesBehind(this.#deps.engine.logs, channelStream(tenant, channel), after);
  }

  #entry(tenant: string, channel: string, seq: number): Promise<Entry | null> {
    return entryAt(this.#deps.engine.logs, channelStream(tenant, channel), seq);
  }
}

const announcementId = ({ id }: Announced) => `ptr:${id}`;

function announcement(
  caller: Pick<Caller, 'name' | 'agent'>,
  { id, metadata, sealed_key }: Announced,
): JsonObject {
  const entry: JsonObject = { pointer: id, ...sentBy(caller) };
  if (Object.keys(metadata).length > 0) entry.metadata = metadata;
  if (sealed_key !== null) entry.sealed_key = sealed_key;
  return entry;
}

function checkSignal(msg: unknown): void {
  if (msg === undefined) throw badRequest('"msg" is missing.');
  if (isTooDeep(msg as Json)) {
    throw badRequest(`"msg" is nested more than ${JSON_DEPTH} levels deep.`);
  }
  const bytes = new TextEncoder().encode(JSON.stringify(msg)).byteLength;
  if (bytes > SIGNAL_BYTES) {
    throw tooLarge(
      'a signal',
      SIGNAL_BYTES,
      'Push it to this channel instead. Subscribers then get a pointer to it.',
    );
  }
}

/** Returns the record key of a ticket. Only the hash of a ticket is stored, as for API keys. */
async function ticketKey(ticket: string): Promise<string> {
  return `tkt.${await sha256Hex(ticket)}/caller`;
}
