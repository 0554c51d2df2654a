import { joinBodies, replaceInvalid } from '../base/byte-streams.ts';
import { systemEnv } from '../base/env.ts';
import { RelayError } from '../base/errors.ts';
import { uuid } from '../base/ids.ts';
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts';
import { PAYLOAD_BYTES, STORED_BYTES } from '../base/limits.ts';
import { decodeUtf8 } from '../base/utf8.ts';
import type { AgentsApi } from '../contract/agents.ts';
import type { ChannelsApi, InboxApi, Message, Published } from '../contract/channels.ts';
import { OUTPUT, outputParts } from '../contract/outputs.ts';
import { type PointerRef, parsePointer, parseReadable, pointerUrl } from '../contract/pointer-url.ts';
import type {
  Cost,
  Inspected,
  Part,
  PartRequest,
  Pulled,
  Pushed,
  ReceiptLadder,
  Renewed,
} from '../contract/pointers.ts';
import type { AskedQuestion, QuestionsApi } from '../contract/questions.ts';
import type { TasksApi } from '../contract/tasks.ts';
import { FERNET_CONTENT_TYPE, fernetEncrypt, fernetKeyCheck, generateFernetKey } from '../formats/fernet.ts';
import { usesPull } from '../text/parts/part-request.ts';
import { takePart } from '../text/parts/take-part.ts';
import { type AskOptions, askPerson } from './ask.ts';
import {
  CIPHERTEXT,
  channelKey,
  checkKey,
  decryptPulled,
  isCiphertext,
  sealKey,
  unsealMessage,
} from './encryption.ts';
import { Files } from './files.ts';
import { abortable } from './http-client.ts';
import {
  type CallOptions,
  type ClientRelay,
  type ContextRelayOptions,
  PUSH_OPTION_NAMES,
  type PublishOptions,
  type PullBytesOptions,
  type PushData,
  type PushOptions,
  refuseUnknown,
  toOptions,
} from './options.ts';
import { discardBody, nativeMatcher, type Payload, readPayload, toPayload, toStream } from './payload.ts';
import { RelayChoice } from './relay-choice.ts';
import { type WithSignal, withSignal } from './signals.ts';
import { type MessageHandler, Subscription, type SubscriptionOptions } from './subscription.ts';
import { Threads } from './threads.ts';

/**
 * Client of a relay. It stores payloads and returns short URLs (pointers) to them. It also reads pointers of other
 * relays, and any URL that answers with `{data, metadata}`. It sends its API key only to its own relay.
 */
export class ContextRelay {
  /** Lists channels, publishes to them and manages their consumer groups. */
  readonly channels: WithSignal<ChannelsApi>;
  /** Threads: versioned state, artifacts and an event log. */
  readonly threads: Threads;
  /** Named files with versions, grouped into spaces. */
  readonly files: Files;
  /** Inboxes: messages that named agents have not read yet. */
  readonly inbox: WithSignal<InboxApi>;
  /** Tasks that were sent to agents. */
  readonly tasks: WithSignal<TasksApi>;
  /** Agents that are connected to the relay. */
  readonly agents: WithSignal<AgentsApi>;
  /** Questions to people, and their answers. */
  readonly questions: WithSignal<QuestionsApi>;
  readonly #choice: RelayChoice;
  readonly #counter: ContextRelayOptions['counter'];
  readonly #channelKeys: ContextRelayOptions['channelKeys'];
  /**
   * Idempotency keys of pulls that have not succeeded, by pointer id. The next pull of the pointer sends the
   * same idempotency key, so that the relay does not count it again.
   */
  readonly #unfinished = new Map<string, string>();

  /**
   * Creates a client without contacting the relay. `new ContextRelay('http://…')` is enough for a relay without API
   * keys. Throws if the base URL or the API key is malformed, or if an option does not exist.
   */
  constructor(optionsOrUrl: ContextRelayOptions | string = {}) {
    const options = toOptions(optionsOrUrl);
    this.#choice = new RelayChoice(options);
    const part = <P extends keyof ClientRelay>(name: P) =>
      withSignal<ClientRelay[P]>(this.#choice.own()[name], (signal) => this.#choice.own(signal)[name]);
    this.channels = part('channels');
    this.threads = new Threads(part('threads'), part('capabilities'));
    this.files = new Files(part('files'));
    this.inbox = part('inbox');
    this.tasks = part('tasks');
    this.agents = part('agents');
    this.questions = part('questions');
    this.#counter = options.counter;
    this.#channelKeys = options.channelKeys;
  }

  /**
   * Returns whether this client has the shared encryption key of a channel. Without this key, the client announces
   * encrypted payloads without their payload keys, and subscribers of the channel cannot decrypt them.
   */
  async hasChannelKey(channel: string): Promise<boolean> {
    return (await channelKey(this.#channelKeys, channel)) !== undefined;
  }

  /**
   * Adds the payload key to the URL of a message, if this client has the key of the channel. Otherwise
   * returns the message unchanged. `subscribe` does this by itself.
   */
  async unseal(channel: string, message: Message): Promise<Message> {
    return message.sealed_key === undefined
      ? message
      : unsealMessage(message, await channelKey(this.#channelKeys, channel));
  }

  /** Returns whether the relay requires API keys. */
  async asksForKeys(): Promise<boolean> {
    return (await this.#choice.own().keys.self()).auth === 'keys';
  }

  /** Stores a payload and returns the pointer's URL. The URL of an encrypted payload ends with `#key=…`. */
  async push(data: PushData, options: PushOptions = {}): Promise<string> {
    return (await this.pushDetailed(data, options)).url;
  }

  /** Stores a payload like `push`. Returns the whole answer of the relay: URL, id, size, expiry and token count. */
  async pushDetailed(data: PushData, options: PushOptions = {}): Promise<Pushed> {
    refuseUnknown(options, PUSH_OPTION_NAMES);
    const sealed = options.contentType === FERNET_CONTENT_TYPE && !options.encrypted;
    const payload = await toPayload(data, sealed ? STORED_BYTES : PAYLOAD_BYTES);
    if (options.encrypted) return this.#pushEncrypted(payload.body, options);
    const canSendAsIs = payload.body instanceof Uint8Array || this.#choice.canStream;
    const body = canSendAsIs ? payload.body : await readPayload(payload.body);
    return this.#send(body, { ...options, contentType: options.contentType ?? payload.contentType });
  }

  /** Returns the payload as text, or only the requested part of it. */
  async pull(url: string, part?: PartRequest, options: CallOptions = {}): Promise<string> {
    if (part) return (await this.pullPart(url, part, options)).text;
    return this.#pullAndUse(url, options, async (pulled, key) => {
      if (!pulled.about.text && key === null) throw notText();
      const text = decodeUtf8(await decryptPulled(pulled, key));
      if (text === null) throw notText();
      return text;
    });
  }

  /**
   * Returns a part of a payload, with a note about its position. The client pulls an encrypted payload completely and
   * cuts the part itself.
   */
  async pullPart(url: string, part: PartRequest, options: CallOptions = {}): Promise<Part> {
    if (parseReadable(url).key !== null) {
      let partRead: Part | undefined;
      const counts = 'outline' in part ? false : () => partRead !== undefined && usesPull(part, partRead);
      return this.#pullAndUse(url, { ...options, counts }, async (pulled, key) => {
        const plain = key === null ? pulled.body : await decryptPulled(pulled, key);
        const isOutput = pulled.about.metadata.kind === OUTPUT;
        partRead = await takePart(isOutput ? replaceInvalid(toStream(plain)) : plain, part, nativeMatcher);
        return partRead;
      });
    }
    const result = await this.#ask(parseReadable(url), options, 'pull', ({ pointers }, id) =>
      pointers.part(id, part, { signal: options.signal }),
    );
    // The relay does not know that this payload is encrypted and has returned lines of ciphertext, which are
    // useless. Report the missing key instead.
    if (CIPHERTEXT.test(result.text) && isCiphertext(await this.inspect(url, options)))
      throw new RelayError('key_missing');
    return result;
  }

  /** Returns the payload as bytes, or only the requested byte range. */
  async pullBytes(url: string, options: PullBytesOptions = {}): Promise<Uint8Array> {
    // A range of ciphertext cannot be decrypted, so pull the whole payload and cut it after decryption.
    const range = parseReadable(url).key === null ? options.range : undefined;
    // A range that is out of bounds must not use up a pull. So count the pull only after the range was cut.
    const counts = options.range && !range ? () => true : undefined;
    return this.#pullAndUse(url, { ...options, range, counts }, async (pulled, key) => {
      const bytes = await decryptPulled(pulled, key);
      return options.range && !pulled.range ? sliceRange(bytes, options.range) : bytes;
    });
  }

  /**
   * Returns the payload as a stream. An encrypted payload is buffered first, because its signature covers all of it.
   */
  async pullStream(url: string, options: CallOptions = {}): Promise<ReadableStream<Uint8Array>> {
    return this.#pullAndUse(url, options, async (pulled, key) =>
      toStream(key === null && !isCiphertext(pulled.about) ? pulled.body : await decryptPulled(pulled, key)),
    );
  }

  /** Returns the metadata of a pointer. A peek does not read the payload and does not count as a pull. */
  async peek(url: string, options: CallOptions = {}): Promise<JsonObject> {
    return (await this.inspect(url, options)).metadata;
  }

  /** Returns metadata, size, expiry and sender of a pointer without pulling the payload. */
  async inspect(url: string, options: CallOptions = {}): Promise<Inspected> {
    return this.#ask(parseReadable(url), options, 'peek', ({ pointers }, id) => pointers.peek(id));
  }

  /**
   * Returns how many tokens a payload, or a part of it, costs a model. An encrypted payload is read by this client
   * and counted with the option `counter`. Uses up no pull, and rejects if the relay would count the read as a pull.
   */
  async cost(url: string, part?: PartRequest, options: CallOptions = {}): Promise<Cost> {
    const ref = parsePointer(url);
    if (ref.key === null) {
      return this.#ask(ref, options, 'cost', ({ pointers }, id) =>
        pointers.cost(id, part, { signal: options.signal }),
      );
    }
    const counter = this.#counter;
    if (!counter) {
      throw new RelayError('bad_request', {
        what: 'The relay cannot read an encrypted payload, and this client has no tokenizer to count it.',
        hint: 'Pass a `counter` to ContextRelay, or run: relay pull <url> --cost',
      });
    }
    return this.#pullAndUse(url, { ...options, counts: false }, async (pulled, key) => {
      const bytes = await decryptPulled(pulled, key);
      const text = part ? (await takePart(bytes, part, nativeMatcher)).text : decodeUtf8(bytes);
      if (text === null) throw notText();
      return { ...(await counter.count(text)), bytes: new TextEncoder().encode(text).byteLength };
    });
  }

  /**
   * Extends the expiry of pointers to at least `ttl` seconds from now, within the limits of the relay. Returns the
   * pointers that exist, with their new expiry.
   */
  async renew(
    urls: readonly string[],
    options: CallOptions & { ttl?: number } = {},
  ): Promise<Renewed['pointers']> {
    const ids = urls.map((url) => parsePointer(url).id);
    const renewing = this.#choice.own(options.signal).pointers.renew(ids, { ttl: options.ttl });
    return (await abortable(renewing, options.signal, 'renew')).pointers;
  }

  /** Deletes a pointer and its payload immediately. */
  async delete(url: string, options: CallOptions = {}): Promise<void> {
    await this.#ask(parsePointer(url), options, 'delete', ({ pointers }, id) => pointers.delete(id));
  }

  /**
   * Subscribes to a channel. Pass a handler, or loop over the subscription. After a lost connection, the subscription
   * reconnects and continues after the last message. In a group, a message is acknowledged when the handler returns,
   * and given back when it throws.
   */
  subscribe(channel: string, options?: SubscriptionOptions): Subscription;
  subscribe(channel: string, handler: MessageHandler, options?: SubscriptionOptions): Subscription;
  subscribe(
    channel: string,
    handlerOrOptions?: MessageHandler | SubscriptionOptions,
    more?: SubscriptionOptions,
  ): Subscription {
    const handler = typeof handlerOrOptions === 'function' ? handlerOrOptions : undefined;
    const options = typeof handlerOrOptions === 'function' ? more : handlerOrOptions;
    return new Subscription(this.#choice.own(), channel, { ...options, handler, keys: this.#channelKeys });
  }

  /** Sends a small JSON message to all subscribers of a channel, without storing a payload. */
  async publish(channel: string, msg: Json, options: PublishOptions = {}): Promise<Published> {
    const { channels } = this.#choice.own(options.signal);
    const published = channels.publish(channel, msg, {
      idempotency_key: options.idempotencyKey,
      reply_to: options.replyTo,
      after: options.after,
    });
    return abortable(published, options.signal, 'publish');
  }

  /** Asks a person and waits for the answer. Rejects if nobody answers in time and there is no default. */
  async ask(question: string, options: AskOptions = {}): Promise<AskedQuestion> {
    return askPerson(this.questions, question, options);
  }

  /** Returns the receipts of a pointer: who was notified, pulled it, acknowledged it or answered. */
  async receipts(url: string, options: CallOptions = {}): Promise<ReceiptLadder> {
    return this.#ask(parsePointer(url), options, 'receipts', ({ receipts }, id) => receipts.get(id));
  }

  /**
   * Joins the decrypted parts of a command's output that was too large for one payload. Returns any other
   * payload unchanged.
   */
  #withParts(
    ref: PointerRef,
    first: Pulled,
    options: PullBytesOptions,
  ): [pulled: Pulled, key: string | null] {
    const { key } = ref;
    const ids = options.range ? [] : outputParts(first.about.metadata);
    if (ids.length === 0) return [first, key];
    const plain = async (part: Pulled) => (key === null ? part.body : decryptPulled(part, key));
    const further = ids.map((id) => async () => {
      const part = await this.#ask({ ...ref, id }, options, 'pull', ({ pointers }) => pointers.pull(id));
      return plain(part);
    });
    const about = key === null ? first.about : { ...first.about, content_type: null };
    return [{ ...first, about, body: joinBodies([() => plain(first), ...further]) }, null];
  }

  /** Calls the relay that stores the pointer. */
  async #ask<T>(
    ref: PointerRef,
    { signal }: CallOptions,
    doing: string,
    ask: (relay: ClientRelay, id: string) => Promise<T>,
  ): Promise<T> {
    return abortable(ask(this.#choice.relayFor(ref, signal), ref.id), signal, doing);
  }

  async #pushEncrypted(body: Payload['body'], options: PushOptions): Promise<Pushed> {
    const plain = await readPayload(body);
    const key = generateFernetKey(systemEnv);
    const token = await fernetEncrypt(key, plain, { now: systemEnv.now() });
    const text = options.count && this.#counter ? decodeUtf8(plain) : null;
    const shared = options.channel ? await channelKey(this.#channelKeys, options.channel) : undefined;
    const pushed = await this.#send(new TextEncoder().encode(token), {
      ...options,
      contentType: FERNET_CONTENT_TYPE,
      // The relay sees only ciphertext, so this client counts the tokens and makes the excerpt below.
      count: false,
      excerpt: undefined,
      sealedKey: shared && (await sealKey(shared, key)),
      keyCheck: await fernetKeyCheck(key),
    });
    const tokens = text === null ? {} : { tokens: await this.#counter!.count(text) };
    const excerpt = options.excerpt ? { excerpt: await this.#excerptOf(plain, options.excerpt) } : {};
    return {
      ...pushed,
      url: pointerUrl(parsePointer(pushed.url).base!, pushed.id, key),
      ...tokens,
      ...excerpt,
    };
  }

  async #excerptOf(plain: Uint8Array, budget: number): Promise<string> {
    // Load this code only here, so that web pages do not load it with the SDK. Few programs need an excerpt
    // of an encrypted payload.
    const { excerpt } = await import('../text/excerpt/excerpt.ts');
    return (await excerpt([plain], { budget, counter: this.#counter })).text;
  }

  async #send(
    body: Uint8Array | ReadableStream<Uint8Array>,
    options: PushOptions & { readonly sealedKey?: string; readonly keyCheck?: string },
  ): Promise<Pushed> {
    const size = body instanceof Uint8Array ? body.byteLength : options.size;
    const input = {
      body,
      size,
      content_type: options.contentType,
      channel: options.channel,
      metadata: checkMetadata(options.metadata),
      ttl: options.ttl,
      max_pulls: options.maxPulls,
      visibility: options.visibility,
      idempotency_key: options.idempotencyKey,
      count: options.count,
      excerpt: options.excerpt,
      sealed_key: options.sealedKey,
      key_check: options.keyCheck,
    };
    const pushed = await abortable(
      this.#choice.own(options.signal).pointers.push(input),
      options.signal,
      'push',
    );
    this.#choice.learn(pushed.url);
    return pushed;
  }

  /**
   * Pulls a payload and passes it to `use`. The relay counts a pull when it starts. If `use` then fails, for example
   * because the encryption key is wrong, the next pull sends the same idempotency key, so that the relay does not count
   * it again. `counts` is for encrypted payloads with a limited number of pulls: they are read with a look, which the
   * relay does not count. If `counts` is a function, it is called after `use`. If it returns true, the pull is counted.
   */
  async #pullAndUse<T>(
    url: string,
    options: PullBytesOptions & { readonly counts?: false | (() => boolean) },
    use: (pulled: Pulled, key: string | null) => Promise<T>,
  ): Promise<T> {
    const ref = parseReadable(url);
    const found = ref.key === null ? null : await checkKey(ref.key, () => this.inspect(url, options));
    const limited = options.counts !== undefined && found !== null && found.max_pulls !== null;
    const look = limited && found.pulls_left !== undefined;
    if (limited && !look && options.counts === false) throw wouldCount(found);
    const idempotencyKey = this.#unfinished.get(ref.id) ?? uuid(systemEnv);
    if (!look) {
      this.#unfinished.delete(ref.id);
      this.#unfinished.set(ref.id, idempotencyKey);
      if (this.#unfinished.size > MAX_UNFINISHED)
        this.#unfinished.delete(this.#unfinished.keys().next().value!);
    }
    const { range } = options;
    const request = look ? { look } : { idempotency_key: idempotencyKey, range, keyless: ref.key === null };
    const first = await this.#ask(ref, options, 'pull', ({ pointers }, id) => pointers.pull(id, request));
    const [pulled, key] = this.#withParts(ref, first, options);
    try {
      const result = await abortable(use(pulled, key), options.signal, 'pull');
      if (look && options.counts !== false && options.counts!()) await this.#countLook(ref, options);
      this.#unfinished.delete(ref.id);
      return result;
    } catch (error) {
      await discardBody(pulled.body);
      throw error;
    }
  }

  /** Counts the pull after a look. It pulls one byte, which uses the pull that the look has reserved. */
  async #countLook(ref: PointerRef, options: CallOptions): Promise<void> {
    const request = { range: { start: 0, end: 1 }, idempotency_key: uuid(systemEnv) };
    const { body } = await this.#ask(ref, options, 'pull', ({ pointers }, id) => pointers.pull(id, request));
    await discardBody(body);
  }
}

const MAX_UNFINISHED = 100;

function sliceRange(bytes: Uint8Array, { start, end }: { start: number; end: number }): Uint8Array {
  if (start < 0 || start >= bytes.byteLength || end <= start) {
    throw new RelayError('range_not_satisfiable', { size: bytes.byteLength });
  }
  return bytes.slice(start, end);
}

/**
 * Returns the error for a read that should be a look but that the relay would count as a pull. Older relays count every
 * look. All relays count the looks of anonymous callers.
 */
function wouldCount({ max_pulls, size }: Inspected): RelayError {
  const often = max_pulls === 1 ? 'once' : `${max_pulls} times`;
  return new RelayError('bad_request', {
    what: `A token count or an outline would use up a pull, and the payload can be pulled only ${often}.`,
    hint: `Nothing was pulled. With an API key of the relay, this uses one pull, and your next pull is then free. The decrypted payload has at most ${Math.floor(((size ?? STORED_BYTES) * 3) / 4)} bytes.`,
  });
}

function notText(): RelayError {
  return new RelayError('not_text', {
    what: 'text to return',
    hint: 'Use pullBytes or pullStream of the same client. The relay does not count this as another pull.',
  });
}

function checkMetadata(metadata: unknown): JsonObject | undefined {
  if (metadata === undefined || metadata === null) return undefined;
  try {
    const plain: unknown = JSON.parse(JSON.stringify(metadata));
    if (isJsonObject(plain)) return plain;
  } catch {
    // The metadata cannot be converted to JSON. Throw the error below.
  }
  throw new RelayError('bad_request', { what: 'Metadata must be a JSON object.' });
}
