import { nearestFew } from '../../base/did-you-mean.ts';
import { badRequest, RelayError } from '../../base/errors.ts';
import { sha256Hex } from '../../base/hash.ts';
import { checkIdempotencyKey, timeOrderedId } from '../../base/ids.ts';
import {
  AGENT_EXCERPT_TOKENS,
  AGENT_MESSAGE_BYTES,
  AGENT_MESSAGE_INLINE_BYTES,
  AGENT_MESSAGES_KEPT_MS,
  AGENT_MESSAGES_LISTED,
  AGENT_MESSAGES_SHOWN,
  AGENT_RECIPIENTS,
  AGENT_TAKEN_MS,
  AGENT_TEXT_CHARS,
  CONVERSATION_MESSAGES,
  CONVERSATIONS_LISTED,
} from '../../base/limits.ts';
import {
  type AgentMessage,
  agentChannel,
  agents,
  type Conversation,
  type MessageMark,
  type MessageOptions,
} from '../../contract/agents.ts';
import { authorize, mayUseChannel } from '../../contract/authorize.ts';
import { type Caller, type CallerAt, sentBy } from '../../contract/caller.ts';
import { compareAndSet } from '../../kernel/records.ts';
import type { Deps } from '../deps.ts';
import { checkAgentName, checkCount, segment } from '../names.ts';
import type { Pointers } from '../pointers/pointers.ts';
import { allRecords, type RecordsOf, recordsOf } from '../records.ts';
import type { Sessions } from './sessions.ts';

const messageKey = (tenant: string, id: string) => `ten.${tenant}/mail/${segment(id)}`;
/** Prefix of the list of messages that wait for an agent. */
const waitingPrefix = (tenant: string, agent: string) => `ten.${tenant}/mail-waiting/${segment(agent)}/`;
const knownKey = (tenant: string, agent: string, sender: string) =>
  `ten.${tenant}/mail-known/${segment(agent)}/${segment(sender)}`;
const conversationsPrefix = (tenant: string) => `ten.${tenant}/conversation/`;
/**
 * Returns the key of a conversation. Listings are in ascending order of keys, so the key begins with the inverted
 * creation time: the newest conversation comes first. The id begins with the creation time.
 */
const conversationKey = (tenant: string, id: string) =>
  conversationsPrefix(tenant) + (0xffffffffffff - Number.parseInt(id.slice(0, 12), 16)).toString(16) + id;

/**
 * Allowed form of the pointer in a message. A hook prints a shell command with the pointer, so the pointer may not
 * contain characters that end the command or run another one, such as spaces, quotes, `;` and `$`.
 */
const ATTACHABLE = /^[\w.:/#%=@~+?[\]-]{1,2048}$/;

/** A message with its receipts. Times are in ms. */
interface MessageRecord {
  readonly id: string;
  readonly conversation: string;
  readonly from: string;
  readonly agent?: string;
  readonly to: string;
  readonly text: string;
  readonly url?: string;
  readonly reply_to?: string;
  readonly at: number;
  /** True if the sender is not a session of a coding agent, or is a session whose name a person chose. */
  readonly trusted: boolean;
  /** Time until which the message is leased to a process that shows it. */
  readonly taken?: number;
  /** Time at which the message was put into a queue of the client. */
  readonly sent?: number;
  readonly route?: string;
  readonly shown?: number;
  readonly read?: number;
  readonly answered?: number;
}

interface ConversationRecord {
  readonly id: string;
  readonly agents: readonly string[];
  readonly messages: readonly string[];
  readonly limit: number;
  readonly at: number;
  readonly last: number;
  readonly about: string;
}

interface MessageParts {
  readonly deps: Deps;
  readonly sessions: Sessions;
  /**
   * Returns the pointer service. It is created at the first long message: other messages do not need it, and creating
   * it also creates the channels.
   */
  pointers(): Pointers;
  /** Returns the bridges and followers. */
  others(caller: Caller): Promise<{ readonly name: string; readonly kind: string }[]>;
}

/**
 * Messages between agents. The record of a message also contains its receipts. The list of waiting messages
 * of an agent contains the messages that were neither shown nor read.
 */
export class Messages {
  readonly #parts: MessageParts;
  readonly #records: RecordsOf<MessageRecord>;
  readonly #conversations: RecordsOf<ConversationRecord>;

  constructor(parts: MessageParts) {
    this.#parts = parts;
    this.#records = recordsOf(parts.deps.engine.records);
    this.#conversations = recordsOf(parts.deps.engine.records);
  }

  async send(caller: CallerAt, to: string | readonly string[] | null, text: string, o: MessageOptions = {}) {
    const sender = caller.agent ?? caller.name;
    // A client states its agent name without proof. So a key with a channel prefix may act only for agents whose
    // `agentChannel` begins with the prefix.
    const isOwn = mayUseChannel(caller, agentChannel(sender));
    checkIdempotencyKey(o.idempotency_key);
    if (o.url !== undefined && !ATTACHABLE.test(o.url))
      throw badRequest('"url" must be a pointer: a URL or a handle without spaces and quotes.');
    const original = o.reply_to === undefined ? null : await this.#reachable(caller, o.reply_to);
    const names = await this.#recipients(caller, to, original?.value ?? null, sender);
    // Do not check the recipients of a reply: the agent that sent the original message exists.
    if (!o.queue && original === null) for (const name of names) await this.#checkKnown(caller, name);
    const body = await this.#body(caller, text, o);
    const session = await this.#parts.sessions.get(caller.tenant, sender);
    const trusted = session === null || session.named;
    const messages: AgentMessage[] = [];
    for (const name of names) {
      const fields = { ...sentBy(caller), to: name, ...body, trusted, reply_to: o.reply_to };
      messages.push(this.#public(await this.#store(caller, fields, original?.value ?? null, o)));
      if (isOwn) await this.#addKnownSender(caller.tenant, sender, name);
    }
    if (original !== null && original.value.to === sender && isOwn) {
      const at = this.#parts.deps.env.now();
      await this.#change(caller.tenant, original.value.id, (record) => ({
        ...record,
        read: record.read ?? at,
        answered: record.answered ?? at,
        taken: undefined,
        sent: undefined,
      }));
      await this.#settle(caller.tenant, original.value);
    }
    return { messages };
  }

  async #recipients(
    caller: Caller,
    to: string | readonly string[] | null,
    original: MessageRecord | null,
    sender: string,
  ): Promise<string[]> {
    const names: string[] = [];
    for (const name of to === null ? [original ? writerOf(original) : null] : [to].flat()) {
      if (name === null)
        throw badRequest('"to" is null. Only an answer, with "reply_to", may omit the recipient.');
      if (name !== '*') names.push(checkAgentName(name));
      else
        for await (const [each, session] of this.#parts.sessions.all(caller.tenant))
          if (each !== sender && this.#parts.sessions.isAlive(session)) names.push(each);
    }
    if (names.length === 0)
      throw badRequest('No other session is running.', 'Name an agent and send "queue": true.');
    for (const name of names) authorize(caller, agents.send, { to: name });
    const unique = [...new Set(names)];
    if (unique.length > AGENT_RECIPIENTS)
      throw badRequest(
        `The message has ${unique.length} recipients; the limit is ${AGENT_RECIPIENTS}.`,
        'Name fewer agents.',
      );
    return unique;
  }

  /** Throws `unknown_agent` with the nearest names if no agent has the name. */
  async #checkKnown(caller: Caller, name: string): Promise<void> {
    if ((await this.#parts.sessions.get(caller.tenant, name)) !== null) return;
    const others = (await this.#parts.others(caller)).filter((each) => each.kind !== 'session');
    const same = others.filter((each) => each.name === name);
    if (same.some(({ kind }) => kind === 'follower')) return;
    if (same.length > 0)
      throw badRequest(`${name} is a bridge, which takes tasks.`, `Use: relay bridge send --to ${name} "…"`);
    const names = others.filter(({ kind }) => kind === 'follower').map((each) => each.name);
    for await (const [each] of this.#parts.sessions.all(caller.tenant)) names.push(each);
    const usable = names.filter((each) => mayUseChannel(caller, agentChannel(each)));
    const near = nearestFew(name, [...new Set(usable)], 3);
    throw new RelayError('unknown_agent', {
      name: JSON.stringify(name),
      near: near.length > 0 ? ` Did you mean ${near.join(' or ')}?` : '',
    });
  }

  /**
   * Returns the text and the pointer of a message. A long text is stored as a payload, and the message
   * contains an excerpt of it.
   */
  async #body(caller: CallerAt, text: string, o: MessageOptions): Promise<{ text: string; url?: string }> {
    const bytes = new TextEncoder().encode(text);
    if (bytes.byteLength > AGENT_MESSAGE_BYTES)
      throw new RelayError('too_large', { what: 'a message', limit: AGENT_MESSAGE_BYTES });
    if (bytes.byteLength <= AGENT_MESSAGE_INLINE_BYTES) return { text, url: o.url };
    if (o.url !== undefined)
      throw badRequest(
        `A message with a pointer has at most ${AGENT_MESSAGE_INLINE_BYTES} bytes of text.`,
        'Send a shorter text, or the long text without a pointer.',
      );
    const { idempotency_key: key } = o;
    const { url, excerpt } = await this.#parts.pointers().push(caller, {
      body: bytes,
      excerpt: AGENT_EXCERPT_TOKENS,
      ttl: AGENT_MESSAGES_KEPT_MS / 1000,
      metadata: { summary: 'message to an agent' },
      idempotency_key: key && `message:${key}`,
    });
    return { text: excerpt ?? text.slice(0, AGENT_TEXT_CHARS), url };
  }

  /** Stores a message and its entry in the list of waiting messages in one commit. */
  async #store(
    { tenant }: Caller,
    fields: Omit<MessageRecord, 'id' | 'at' | 'conversation'>,
    original: MessageRecord | null,
    o: MessageOptions,
  ): Promise<MessageRecord> {
    const { env } = this.#parts.deps;
    const key = o.idempotency_key;
    const keyed = JSON.stringify([fields.from, fields.to, key]);
    const id = key === undefined ? timeOrderedId(env) : `k${(await sha256Hex(keyed)).slice(0, 25)}`;
    const stored = await this.#records.get(messageKey(tenant, id));
    if (stored && stored.value.text !== fields.text) throw new RelayError('idempotency_conflict');
    if (stored) return stored.value;
    const waiting = await this.#records.list(waitingPrefix(tenant, fields.to), {
      limit: AGENT_MESSAGES_LISTED,
    });
    if (waiting.items.length >= AGENT_MESSAGES_LISTED)
      throw badRequest(
        `${AGENT_MESSAGES_LISTED} messages wait for ${fields.to}, which is the limit.`,
        'Send it again when the agent has read some of them.',
      );
    const conversation = await this.#join(tenant, id, fields, original);
    const at = env.now();
    const record: MessageRecord = { id, conversation, at, ...fields };
    const listed = await this.#parts.deps.engine.records.stage(waitingPrefix(tenant, fields.to) + id, at);
    const expiresAt = at + AGENT_MESSAGES_KEPT_MS;
    await this.#records.put(messageKey(tenant, id), record, { expect: 'absent', expiresAt, with: [listed] });
    return record;
  }

  /**
   * Adds a message to the conversation of the original message, or starts a conversation. Returns the
   * conversation's id. Throws if the conversation is full.
   */
  #join(
    tenant: string,
    id: string,
    fields: Pick<MessageRecord, 'from' | 'agent' | 'to' | 'text'>,
    original: MessageRecord | null,
  ): Promise<string> {
    const { env } = this.#parts.deps;
    const fresh = timeOrderedId(env);
    return compareAndSet('a conversation', async () => {
      const now = env.now();
      const key = conversationKey(tenant, original?.conversation ?? fresh);
      const stored = await this.#conversations.get(key);
      const conversation = stored?.value ?? {
        id: fresh,
        agents: [],
        messages: [],
        limit: CONVERSATION_MESSAGES,
        at: now,
        last: now,
        about: fields.text.slice(0, AGENT_TEXT_CHARS),
      };
      const { messages, limit } = conversation;
      if (messages.includes(id)) return conversation.id;
      if (messages.length >= limit)
        throw new RelayError('conversation_limit', { id: conversation.id, count: messages.length });
      const agents = [...new Set([...conversation.agents, writerOf(fields), fields.to])];
      const value = { ...conversation, agents, messages: [...messages, id], last: now };
      const o = { expect: stored?.revision ?? 'absent', expiresAt: now + AGENT_MESSAGES_KEPT_MS } as const;
      return (await this.#conversations.put(key, value, o)) === null ? null : conversation.id;
    });
  }

  /** Lists the messages that wait for an agent, oldest first. */
  async messages(caller: Caller, rawName: string, o: { limit?: number } = {}) {
    const name = checkAgentName(rawName);
    const limit = checkCount('limit', o.limit ?? AGENT_MESSAGES_LISTED, AGENT_MESSAGES_LISTED);
    const waiting = await this.#waiting(caller.tenant, name);
    return { messages: waiting.slice(0, limit).map(({ record, held }) => this.#public(record, held)) };
  }

  /** Leases messages to the caller, so that no other process shows them too. The caller shows them to the session. */
  async take(caller: Caller, rawName: string, o: { limit?: number } = {}) {
    const name = checkAgentName(rawName);
    const limit = checkCount('limit', o.limit ?? AGENT_MESSAGES_SHOWN, AGENT_MESSAGES_LISTED);
    const messages: AgentMessage[] = [];
    for (const { record, held } of await this.#waiting(caller.tenant, name)) {
      if (messages.length >= limit) break;
      if (held || record.sent !== undefined) continue;
      const now = this.#parts.deps.env.now();
      let won = false;
      await this.#change(caller.tenant, record.id, (current) => {
        won = isWaiting(current) && current.sent === undefined && (current.taken ?? 0) <= now;
        return won ? { ...current, taken: now + AGENT_TAKEN_MS } : current;
      });
      if (won) messages.push(this.#public(record));
    }
    return { messages };
  }

  async mark(caller: Caller, rawName: string, { ids, as, route }: MessageMark) {
    const name = checkAgentName(rawName);
    const messages: AgentMessage[] = [];
    for (const id of ids) {
      const found = await this.#reachable(caller, id);
      if (found.value.to !== name) throw notFound(id);
      const now = this.#parts.deps.env.now();
      const record = await this.#change(caller.tenant, id, (current) => {
        const { taken: _, sent, ...rest } = current;
        if (as === 'queued') return rest;
        if (as === 'sent') return isWaiting(current) ? { ...rest, sent: now, route } : rest;
        if (as === 'shown') return { ...rest, shown: rest.shown ?? now, route: rest.route ?? route };
        return { ...rest, read: rest.read ?? now };
      });
      if (!isWaiting(record)) await this.#settle(caller.tenant, record);
      messages.push(this.#public(record));
    }
    return { messages };
  }

  /**
   * Counts the messages that wait for an agent, and how many of them are held back. Also returns the senders of the
   * messages that are held back.
   */
  async count(tenant: string, name: string): Promise<{ unread: number; held: string[]; heldCount: number }> {
    const waiting = await this.#waiting(tenant, name);
    const held = waiting.filter((each) => each.held).map(({ record }) => writerOf(record));
    return { unread: waiting.length, held: [...new Set(held)], heldCount: held.length };
  }

  async allow(caller: Caller, name: string, sender: string): Promise<void> {
    await this.#addKnownSender(caller.tenant, checkAgentName(name), checkAgentName(sender));
  }

  async #addKnownSender(tenant: string, agent: string, sender: string): Promise<void> {
    const at = this.#parts.deps.env.now();
    const { records } = this.#parts.deps.engine;
    await records.put(knownKey(tenant, agent, sender), at, { expiresAt: at + AGENT_MESSAGES_KEPT_MS });
  }

  async conversations(caller: Caller, o: { limit?: number } = {}) {
    const limit = checkCount('limit', o.limit ?? CONVERSATIONS_LISTED, CONVERSATIONS_LISTED);
    const conversations: Conversation[] = [];
    for await (const { value } of allRecords(this.#conversations, conversationsPrefix(caller.tenant))) {
      if (mayJoin(caller, value)) conversations.push(publicConversation(value));
      if (conversations.length >= limit) break;
    }
    return { conversations };
  }

  async conversation(caller: Caller, id: string) {
    const { value } = await this.#conversation(caller, id);
    const found = await Promise.all(
      value.messages.map((each) => this.#records.get(messageKey(caller.tenant, each))),
    );
    const messages = found.flatMap((each) => (each ? [this.#public(each.value)] : []));
    return { conversation: publicConversation(value), messages };
  }

  async proceed(caller: Caller, id: string): Promise<Conversation> {
    return compareAndSet('a conversation', async () => {
      const { value, revision } = await this.#conversation(caller, id);
      const changed = { ...value, limit: value.messages.length + CONVERSATION_MESSAGES };
      const o = { expect: revision, expiresAt: value.last + AGENT_MESSAGES_KEPT_MS };
      const won = await this.#conversations.put(conversationKey(caller.tenant, value.id), changed, o);
      return won === null ? null : publicConversation(changed);
    });
  }

  async #conversation(caller: Caller, id: string) {
    const valid = /^[0-9a-f]{26}$/.test(id);
    const stored = valid ? await this.#conversations.get(conversationKey(caller.tenant, id)) : null;
    if (stored && mayJoin(caller, stored.value)) return stored;
    throw new RelayError('not_found', { what: `the conversation ${JSON.stringify(id)}` });
  }

  /** Returns the message, if the caller may use the messages of its recipient or of its sender. */
  async #reachable(caller: Caller, id: string) {
    const stored = await this.#records.get(messageKey(caller.tenant, id));
    const ends = stored ? [stored.value.to, writerOf(stored.value)] : [];
    if (stored && ends.some((name) => mayUseChannel(caller, agentChannel(name)))) return stored;
    throw notFound(id);
  }

  async #waiting(tenant: string, name: string): Promise<{ record: MessageRecord; held: boolean }[]> {
    const prefix = waitingPrefix(tenant, name);
    const { records } = this.#parts.deps.engine;
    const { items } = await records.list(prefix, { limit: AGENT_MESSAGES_LISTED });
    if (items.length === 0) return [];
    const inbound = (await this.#parts.sessions.get(tenant, name))?.inbound ?? 'known';
    const waiting: { record: MessageRecord; held: boolean }[] = [];
    for (const { key } of items) {
      const record = (await this.#records.get(messageKey(tenant, key.slice(prefix.length))))?.value;
      // Delete the list entry of a message that has expired or no longer waits. After a crash, a message that no
      // longer waits may still have an entry.
      if (record === undefined || !isWaiting(record)) await records.delete(key);
      else waiting.push({ record, held: !(await this.#admits(inbound, record, tenant)) });
    }
    return waiting.sort((a, b) => a.record.at - b.record.at);
  }

  async #admits(inbound: 'known' | 'all' | 'none', record: MessageRecord, tenant: string): Promise<boolean> {
    if (inbound !== 'known') return inbound === 'all';
    if (record.trusted) return true;
    const key = knownKey(tenant, record.to, writerOf(record));
    return (await this.#parts.deps.engine.records.get(key)) !== null;
  }

  #change(
    tenant: string,
    id: string,
    change: (current: MessageRecord) => MessageRecord,
  ): Promise<MessageRecord> {
    return compareAndSet('a message', async () => {
      const stored = await this.#records.get(messageKey(tenant, id));
      if (!stored) throw notFound(id);
      const changed = change(stored.value);
      if (changed === stored.value) return changed;
      const o = { expect: stored.revision, expiresAt: stored.value.at + AGENT_MESSAGES_KEPT_MS };
      return (await this.#records.put(messageKey(tenant, id), changed, o)) === null ? null : changed;
    });
  }

  /** Removes a message from the list of waiting messages of its recipient. */
  async #settle(tenant: string, { to, id }: MessageRecord): Promise<void> {
    await this.#parts.deps.engine.records.delete(waitingPrefix(tenant, to) + id);
  }

  #public(record: MessageRecord, held = false): AgentMessage {
    const { at, shown, read, answered, sent, taken: _, trusted: __, ...rest } = record;
    const when = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms).toISOString());
    const state = answered ? 'answered' : read ? 'read' : shown ? 'shown' : 'queued';
    const times = {
      shown_at: when(shown),
      read_at: when(read),
      answered_at: when(answered),
      sent_at: when(sent),
    };
    const fields = Object.entries({ ...rest, at: when(at), state, ...times, held: held || undefined });
    return Object.fromEntries(fields.filter(([, value]) => value !== undefined)) as unknown as AgentMessage;
  }
}

/**
 * Returns the name of the sender, to which a reply goes: the name of the agent, or the name of the API key if no agent
 * is named.
 */
function writerOf({ from, agent }: Pick<MessageRecord, 'from' | 'agent'>): string {
  return agent ?? from;
}

function isWaiting({ shown, read, answered }: MessageRecord): boolean {
  return shown === undefined && read === undefined && answered === undefined;
}

function mayJoin(caller: Caller, { agents: names }: ConversationRecord): boolean {
  return names.every((name) => mayUseChannel(caller, agentChannel(name)));
}

function publicConversation({
  id,
  agents: names,
  messages,
  limit,
  at,
  last,
  about,
}: ConversationRecord): Conversation {
  const [started_at, last_at] = [new Date(at).toISOString(), new Date(last).toISOString()];
  return { id, agents: names, messages: messages.length, limit, started_at, last_at, about };
}

function notFound(id: string): RelayError {
  return new RelayError('not_found', { what: `the message ${JSON.stringify(id)}` });
}
