import { RelayError } from '../../base/errors.ts';
import { sha256Hex } from '../../base/hash.ts';
import { checkIdempotencyKey, toHex } from '../../base/ids.ts';
import { type Json, type JsonObject, jsonDepth } from '../../base/json.ts';
import { JSON_DEPTH, SIGNAL_BYTES, TICKET_TTL_MS } from '../../base/limits.ts';
import { mayUseChannel } from '../../contract/authorize.ts';
import type { Caller, CallerAt } from '../../contract/caller.ts';
import type {
  ChannelDetail,
  ChannelPage,
  Claim,
  Message,
  Published,
  Since,
  SubscribeOptions,
} from '../../contract/channels.ts';
import type { Entry } from '../../kernel/logs.ts';
import type { Deps } from '../deps.ts';
import { channelStream, checkChannelName, checkGroupName } from '../names.ts';
import type { PointerLookup } from '../pointers/record.ts';
import { type RecordsOf, recordsOf } from '../records.ts';
import { DeadLetters, type OnDead } from './dead-letters.ts';
import { Directory } from './directory.ts';
import { Groups, type OnAcked } from './groups.ts';
import { channelEntry, toMessage } from './message.ts';
import { ReaderView } from './reader-view.ts';
import { Retention } from './retention.ts';
import type { ChannelSettings } from './settings.ts';
import { findStart, type Start } from './start.ts';

/** Named, replayable streams of messages. */
export class Channels {
  readonly settings: ChannelSettings;
  readonly groups: Groups;
  readonly tickets: Tickets;
  readonly #deps: Deps;
  readonly #directory: Directory;
  readonly #retention: Retention;
  /** Whose channels are looked after: everyone who has used one. */
  readonly #tenants = new Set<string>();

  constructor(
    deps: Deps,
    settings: ChannelSettings,
    pointers: PointerLookup,
    told: { readonly onAcked: OnAcked; readonly onDead?: OnDead },
  ) {
    const { onAcked, onDead } = told;
    this.settings = settings;
    this.tickets = new Tickets(deps);
    this.#deps = deps;
    this.#directory = new Directory(deps, settings);
    const deadLetters = new DeadLetters(deps, this.#directory, onDead);
    const directory = this.#directory;
    this.groups = new Groups({ deps, settings, directory, deadLetters, pointers, onAcked });
    this.#retention = new Retention(deps, settings, this.#directory, this.groups);
  }

  /**
   * Puts a pointer on a channel. The entry names the pointer by its id, and each server gives subscribers the URL at
   * which it can itself be reached. Announcing the same pointer again adds nothing.
   */
  async announce(
    caller: Caller,
    channel: string,
    pointer: { id: string; metadata: JsonObject; sealed_key?: string },
  ): Promise<void> {
    const { id, metadata, sealed_key } = pointer;
    const entry: JsonObject = { pointer: id, from: caller.name };
    if (Object.keys(metadata).length > 0) entry.metadata = metadata;
    if (sealed_key !== undefined) entry.sealed_key = sealed_key;
    await this.#append(caller.tenant, channel, entry, `ptr:${id}`);
  }

  async publish(
    caller: Caller,
    name: string,
    msg: Json,
    o: { idempotency_key?: string } = {},
  ): Promise<Published> {
    const channel = checkChannelName(name);
    checkSignal(msg);
    const key = checkIdempotencyKey(o.idempotency_key);
    const { tenant } = caller;
    const seq = await this.#append(tenant, channel, { msg, from: caller.name }, key && `sig:${key}`);
    const entry = await this.#entry(tenant, channel, seq);
    if (key && entry && JSON.stringify(channelEntry(entry.data)?.msg) !== JSON.stringify(msg)) {
      throw new RelayError('idempotency_conflict');
    }
    return { channel, seq, ts: entry?.at ?? this.#deps.env.now() };
  }

  async *subscribe(caller: CallerAt, name: string, o: SubscribeOptions = {}): AsyncGenerator<Message> {
    const { base } = caller;
    const channel = checkChannelName(name);
    const signal = o.signal ?? new AbortController().signal;
    if (o.group === undefined) {
      for await (const entry of this.#entries(caller.tenant, channel, o.since, signal)) {
        yield toMessage(entry, base)!;
      }
      return;
    }
    const { since, prefetch } = o;
    const group = checkGroupName(o.group);
    const work = this.groups.subscribe(caller, channel, group, { since, prefetch, signal });
    for await (const { entry, token, attempt, until } of work) {
      const message = toMessage(entry, base);
      if (message) yield { ...message, token, attempt, lease_until: until };
    }
  }

  async list(caller: Caller, o?: { after?: string; limit?: number }): Promise<ChannelPage> {
    const page = await this.#directory.list(caller.tenant, o);
    return { ...page, channels: page.channels.filter(({ name }) => mayUseChannel(caller, name)) };
  }

  async inspect(caller: Caller, name: string): Promise<ChannelDetail> {
    const channel = checkChannelName(name);
    const { groups, ...info } = await this.#directory.info(caller.tenant, channel);
    const { first } = await this.#deps.engine.logs.info(channelStream(caller.tenant, channel));
    const details = await Promise.all(groups.map((group) => this.groups.detail(caller, channel, group)));
    return { ...info, first_seq: first, groups: details };
  }

  async position(caller: Caller, name: string): Promise<number> {
    const stream = channelStream(caller.tenant, checkChannelName(name));
    return (await this.#deps.engine.logs.info(stream)).last;
  }

  async ack(caller: Caller, name: string, group: string, claim: Claim): Promise<{ seq: number }> {
    return this.groups.ack(caller, checkChannelName(name), checkGroupName(group), claim);
  }

  async nack(
    caller: Caller,
    name: string,
    group: string,
    claim: Claim,
  ): Promise<{ seq: number; dead: boolean }> {
    return this.groups.nack(caller, checkChannelName(name), checkGroupName(group), claim);
  }

  async extend(
    caller: Caller,
    name: string,
    group: string,
    claim: Claim,
  ): Promise<{ seq: number; lease_until: number }> {
    return this.groups.extend(caller, checkChannelName(name), checkGroupName(group), claim);
  }

  async removeGroup(caller: Caller, name: string, group: string): Promise<void> {
    return this.groups.remove(caller, checkChannelName(name), checkGroupName(group));
  }

  ticket(caller: CallerAt): Promise<{ ticket: string; expires_at: string }> {
    return this.tickets.issue(caller);
  }

  /** Whether a push to the channel is work for someone, so that its pointer must not expire before its message. */
  hasGroups(tenant: string, channel: string): Promise<boolean> {
    return this.#directory.hasGroups(tenant, channel);
  }

  /** The pointer that a message is about; null for a signal, and for what is no longer kept. */
  async pointerOf(tenant: string, channel: string, seq: number): Promise<string | null> {
    const entry = await this.#entry(tenant, channel, seq);
    return (entry && channelEntry(entry.data)?.pointer) ?? null;
  }

  /** Where a reader begins, for an interface that shares one subscription among many of them. */
  start(tenant: string, channel: string, since: Since | undefined): Promise<Start> {
    this.#tenants.add(tenant);
    return findStart(this.#deps.engine.logs, channelStream(tenant, channel), since);
  }

  view(start: Start): ReaderView {
    return new ReaderView(this.#deps.env, this.settings.retentionMs, start);
  }

  isMessage(entry: Entry): boolean {
    return channelEntry(entry.data) !== null;
  }

  /** Null for what is no message. */
  message(entry: Entry, base: string): Message | null {
    return toMessage(entry, base);
  }

  /** The log itself, unfiltered: to be looked at through a `ReaderView`. */
  async read(tenant: string, channel: string, after: number): Promise<Entry[]> {
    return (await this.#deps.engine.logs.read(channelStream(tenant, channel), { after })).entries;
  }

  follow(tenant: string, channel: string, after: number, signal: AbortSignal): AsyncIterable<Entry> {
    return this.#deps.engine.logs.subscribe(channelStream(tenant, channel), { after, signal });
  }

  /** Drops what need not be kept: for a server to call now and then. */
  async tidy(tenants: Iterable<string> = []): Promise<void> {
    for (const tenant of tenants) this.#tenants.add(tenant);
    for (const tenant of this.#tenants) await this.#retention.tidySome(tenant);
  }

  async close(): Promise<void> {
    await this.#retention.settled();
    await this.groups.close();
  }

  async *#entries(
    tenant: string,
    channel: string,
    since: Since | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<Entry> {
    const start = await this.start(tenant, channel, since);
    const view = this.view(start);
    for await (const entry of this.follow(tenant, channel, start.after, signal)) {
      const seen = view.see(entry);
      if (seen) yield seen;
    }
  }

  /** Durable before it resolves; waits for no subscriber. */
  async #append(tenant: string, channel: string, entry: JsonObject, id: string | undefined): Promise<number> {
    this.#tenants.add(tenant);
    const stream = channelStream(tenant, channel);
    const seq = await this.#deps.engine.logs.append(stream, entry, id === undefined ? {} : { id });
    await this.#directory.note(tenant, channel);
    this.#retention.appended(tenant, channel);
    return seq!;
  }

  async #entry(tenant: string, channel: string, seq: number): Promise<Entry | null> {
    const stream = channelStream(tenant, channel);
    const { entries } = await this.#deps.engine.logs.read(stream, { after: seq - 1, limit: 1 });
    return entries[0]?.seq === seq ? entries[0] : null;
  }
}

function checkSignal(msg: unknown): void {
  if (msg === undefined) throw new RelayError('bad_request', { what: '"msg" is missing.' });
  if (jsonDepth(msg as Json, JSON_DEPTH) > JSON_DEPTH) {
    throw new RelayError('bad_request', { what: `"msg" is nested more than ${JSON_DEPTH} levels deep.` });
  }
  const bytes = new TextEncoder().encode(JSON.stringify(msg)).byteLength;
  if (bytes > SIGNAL_BYTES) {
    throw new RelayError('too_large', {
      what: 'a signal',
      limit: SIGNAL_BYTES,
      hint: 'Push it instead, with this channel, and subscribers get a pointer to it.',
    });
  }
}

/** Stand-ins for an API key on a WebSocket: good once, for half a minute, at every server of the store. */
class Tickets {
  readonly #deps: Deps;
  readonly #records: RecordsOf<Caller>;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#records = recordsOf(deps.engine.records);
  }

  async issue({ base: _, ...caller }: CallerAt): Promise<{ ticket: string; expires_at: string }> {
    const { engine, env } = this.#deps;
    const ticket = toHex(env.randomBytes(24));
    const expiresAt = env.now() + Math.max(TICKET_TTL_MS, engine.limits.minTtl);
    await this.#records.put(await ticketKey(ticket), caller, { expiresAt });
    return { ticket, expires_at: new Date(expiresAt).toISOString() };
  }

  /** Null for a ticket that is used up, too old or made up. */
  async redeem(ticket: string): Promise<Caller | null> {
    const key = await ticketKey(ticket);
    const stored = await this.#records.get(key);
    if (!stored || !(await this.#records.delete(key))) return null;
    return stored.value;
  }
}

/** Only the hash is stored, as with API keys. */
async function ticketKey(ticket: string): Promise<string> {
  return `tkt.${await sha256Hex(ticket)}/caller`;
}
