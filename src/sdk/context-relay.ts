import { systemEnv } from '../base/env.ts';
import { RelayError } from '../base/errors.ts';
import { uuid } from '../base/ids.ts';
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts';
import { PAYLOAD_BYTES, STORED_BYTES } from '../base/limits.ts';
import { decodeUtf8 } from '../base/utf8.ts';
import type { ChannelsApi, InboxApi, Published } from '../contract/channels.ts';
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
import type { AgentsApi, TasksApi } from '../contract/tasks.ts';
import { FERNET_CONTENT_TYPE, fernetEncrypt, fernetKeyCheck, generateFernetKey } from '../formats/fernet.ts';
import { takePart } from '../text/parts/take-part.ts';
import { CIPHERTEXT, channelKey, checkKey, isCiphertext, opened, sealKey } from './encryption.ts';
import { Files } from './files.ts';
import { abortable } from './http-client.ts';
import type {
  CallOptions,
  ClientRelay,
  ContextRelayOptions,
  PublishOptions,
  PullBytesOptions,
  PushData,
  PushOptions,
} from './options.ts';
import { letGo, nativeMatcher, type Payload, payloadOf, streamOf, wholePayload } from './payload.ts';
import { RelayChoice } from './relay-choice.ts';
import { type MessageHandler, Subscription, type SubscriptionOptions } from './subscription.ts';
import { Threads } from './threads.ts';

/**
 * Hands payloads over as short URLs. Takes any pointer: its own relay's, another one's over HTTP (without the key of
 * this one), encrypted or not; and pulls and peeks at any address that answers `{data, metadata}`.
 */
export class ContextRelay {
  /** Channels and their groups, to look at and to work with. */
  readonly channels: ChannelsApi;
  /** Execution contexts: versioned state, artifacts, events. */
  readonly threads: Threads;
  /** Named files under spaces, overwritten and deleted at will. */
  readonly files: Files;
  /** What named agents have not read yet. */
  readonly inbox: InboxApi;
  /** Work given to agents, by its id. */
  readonly tasks: TasksApi;
  /** Who is there. */
  readonly agents: AgentsApi;
  readonly #choice: RelayChoice;
  readonly #counter: ContextRelayOptions['counter'];
  readonly #channelKeys: ContextRelayOptions['channelKeys'];
  /** Pulls that came through but could not be used, under the key that makes asking again free. */
  readonly #unfinished = new Map<string, string>();

  constructor(options: ContextRelayOptions = {}) {
    this.#choice = new RelayChoice(options);
    // A wrong base URL or key is told here, and not at the first push.
    const own = this.#choice.own();
    this.channels = own.channels;
    this.threads = new Threads(own.threads, own.capabilities);
    this.files = new Files(own.files);
    this.inbox = own.inbox;
    this.tasks = own.tasks;
    this.agents = own.agents;
    this.#counter = options.counter;
    this.#channelKeys = options.channelKeys;
  }

  /** Whether this side has a key for the channel: without one, its subscribers cannot read what is pushed there encrypted. */
  async hasChannelKey(channel: string): Promise<boolean> {
    return (await channelKey(this.#channelKeys, channel)) !== undefined;
  }

  /** Whether the relay asks for API keys. */
  async asksForKeys(): Promise<boolean> {
    return (await this.#choice.own().keys.self()).auth === 'keys';
  }

  /** The pointer's URL, with `#key=` where it is encrypted. */
  async push(data: PushData, o: PushOptions = {}): Promise<string> {
    return (await this.pushDetailed(data, o)).url;
  }

  async pushDetailed(data: PushData, o: PushOptions = {}): Promise<Pushed> {
    const sealed = o.contentType === FERNET_CONTENT_TYPE && !o.encrypted;
    const payload = await payloadOf(data, sealed ? STORED_BYTES : PAYLOAD_BYTES);
    if (o.encrypted) return this.#pushEncrypted(payload.body, o);
    const asItIs = payload.body instanceof Uint8Array || this.#choice.canStream;
    const body = asItIs ? payload.body : await wholePayload(payload.body);
    return this.#send(body, { ...o, contentType: o.contentType ?? payload.contentType });
  }

  /** The payload as text, or the asked part of it. */
  async pull(url: string, part?: PartRequest, o: CallOptions = {}): Promise<string> {
    if (part) return (await this.pullPart(url, part, o)).text;
    return this.#use(url, o, async (pulled, key) => {
      if (!pulled.about.text && key === null) throw notText();
      const text = decodeUtf8(await opened(pulled, key));
      if (text === null) throw notText();
      return text;
    });
  }

  /** A part, with what it is a part of. Of an encrypted payload it is taken on this side. */
  async pullPart(url: string, part: PartRequest, o: CallOptions = {}): Promise<Part> {
    if (parseReadable(url).key !== null) {
      return this.#use(url, o, async (pulled, key) =>
        takePart(await opened(pulled, key), part, nativeMatcher),
      );
    }
    const taken = await this.#ask(parseReadable(url), o, 'pull', ({ pointers }, id) =>
      pointers.part(id, part, { signal: o.signal }),
    );
    // Ciphertext is text too: lines of it are of no use to anybody.
    if (CIPHERTEXT.test(taken.text) && isCiphertext(await this.inspect(url, o)))
      throw new RelayError('key_missing');
    return taken;
  }

  async pullBytes(url: string, o: PullBytesOptions = {}): Promise<Uint8Array> {
    // A range of ciphertext cannot be decrypted: the whole is pulled and cut here.
    const range = parseReadable(url).key === null ? o.range : undefined;
    return this.#use(url, { ...o, range }, async (pulled, key) => {
      const bytes = await opened(pulled, key);
      return o.range && !pulled.range ? cut(bytes, o.range) : bytes;
    });
  }

  /** Bytes as they arrive; an encrypted payload arrives whole, because it has to be checked before it is used. */
  async pullStream(url: string, o: CallOptions = {}): Promise<ReadableStream<Uint8Array>> {
    return this.#use(url, o, async (pulled, key) =>
      streamOf(key === null && !isCiphertext(pulled.about) ? pulled.body : await opened(pulled, key)),
    );
  }

  /** The metadata alone; never touches the payload. */
  async peek(url: string, o: CallOptions = {}): Promise<JsonObject> {
    return (await this.inspect(url, o)).metadata;
  }

  /** All that is known of it without pulling it: metadata, size, expiry, sender. */
  async inspect(url: string, o: CallOptions = {}): Promise<Inspected> {
    return this.#ask(parseReadable(url), o, 'peek', ({ pointers }, id) => pointers.peek(id));
  }

  /**
   * What it, or a part of it, would cost a model. Consumes nothing. What is encrypted only this side can read: it is pulled, where
   * it may be pulled as often as one likes, and the client needs a `counter`.
   */
  async cost(url: string, part?: PartRequest, o: CallOptions = {}): Promise<Cost> {
    const ref = parsePointer(url);
    const { key } = ref;
    if (key === null) {
      return this.#ask(ref, o, 'cost', ({ pointers }, id) => pointers.cost(id, part, { signal: o.signal }));
    }
    const counter = this.#counter;
    if (!counter) {
      throw new RelayError('bad_request', {
        what: 'Only this side can read an encrypted payload, and it has no tokenizer.',
        hint: 'Pass a `counter` to ContextRelay, or ask the command: relay pull <url> --cost.',
      });
    }
    const found = await checkKey(key, () => this.inspect(url, o));
    if (found && found.max_pulls !== null) {
      const often = found.max_pulls === 1 ? 'once' : `${found.max_pulls} times`;
      throw new RelayError('bad_request', {
        what: `Only a pull would tell its price, and it may be pulled only ${often}.`,
        hint: `It was not pulled. It has at most ${Math.floor(((found.size ?? STORED_BYTES) * 3) / 4)} bytes.`,
      });
    }
    const text = await this.pull(url, part, o);
    return { ...(await counter.count(text)), bytes: new TextEncoder().encode(text).byteLength };
  }

  /** Extends the life of pointers to at least `ttl` seconds from now, or as long as the relay allows. Returns those that the relay knows. */
  async renew(urls: readonly string[], o: CallOptions & { ttl?: number } = {}): Promise<Renewed['pointers']> {
    const ids = urls.map((url) => parsePointer(url).id);
    const renewing = this.#choice.own(o.signal).pointers.renew(ids, { ttl: o.ttl });
    return (await abortable(renewing, o.signal, 'renew')).pointers;
  }

  /** Revokes it at once. */
  async delete(url: string, o: CallOptions = {}): Promise<void> {
    await this.#ask(parsePointer(url), o, 'delete', ({ pointers }, id) => pointers.delete(id));
  }

  /**
   * The messages of a channel: for a handler, one after the other, or to loop over. Connections that break are opened
   * again behind the last message. In a group the handler's end acknowledges the work, and an error gives it back.
   */
  subscribe(channel: string, o?: SubscriptionOptions): Subscription;
  subscribe(channel: string, handler: MessageHandler, o?: SubscriptionOptions): Subscription;
  subscribe(
    channel: string,
    handlerOrOptions?: MessageHandler | SubscriptionOptions,
    more?: SubscriptionOptions,
  ): Subscription {
    const handler = typeof handlerOrOptions === 'function' ? handlerOrOptions : undefined;
    const o = typeof handlerOrOptions === 'function' ? more : handlerOrOptions;
    return new Subscription(this.#choice.own(), channel, { ...o, handler, keys: this.#channelKeys });
  }

  /** A signal to all subscribers of a channel, without a payload. */
  async publish(channel: string, msg: Json, o: PublishOptions = {}): Promise<Published> {
    const { channels } = this.#choice.own(o.signal);
    const published = channels.publish(channel, msg, { idempotency_key: o.idempotencyKey });
    return abortable(published, o.signal, 'publish');
  }

  /** Who has been told of a pointer, pulled it, done it: as far as there is evidence. */
  async receipts(url: string, o: CallOptions = {}): Promise<ReceiptLadder> {
    return this.#ask(parsePointer(url), o, 'receipts', ({ receipts }, id) => receipts.get(id));
  }

  /** Asks the relay that has the pointer. */
  async #ask<T>(
    ref: PointerRef,
    { signal }: CallOptions,
    doing: string,
    ask: (relay: ClientRelay, id: string) => Promise<T>,
  ): Promise<T> {
    return abortable(ask(this.#choice.relayFor(ref, signal), ref.id), signal, doing);
  }

  async #pushEncrypted(body: Payload['body'], o: PushOptions): Promise<Pushed> {
    const plain = await wholePayload(body);
    const key = generateFernetKey(systemEnv);
    const token = await fernetEncrypt(key, plain, { now: systemEnv.now() });
    const text = o.count && this.#counter ? decodeUtf8(plain) : null;
    const shared = o.channel ? await channelKey(this.#channelKeys, o.channel) : undefined;
    const pushed = await this.#send(new TextEncoder().encode(token), {
      ...o,
      contentType: FERNET_CONTENT_TYPE,
      // The relay would count the ciphertext, which no model ever reads.
      count: false,
      sealedKey: shared && (await sealKey(shared, key)),
      keyCheck: await fernetKeyCheck(key),
    });
    const tokens = text === null ? {} : { tokens: await this.#counter!.count(text) };
    return { ...pushed, url: pointerUrl(parsePointer(pushed.url).base!, pushed.id, key), ...tokens };
  }

  async #send(
    body: Uint8Array | ReadableStream<Uint8Array>,
    o: PushOptions & { readonly sealedKey?: string; readonly keyCheck?: string },
  ): Promise<Pushed> {
    const size = body instanceof Uint8Array ? body.byteLength : o.size;
    const input = {
      body,
      size,
      content_type: o.contentType,
      channel: o.channel,
      metadata: checkedMetadata(o.metadata),
      ttl: o.ttl,
      max_pulls: o.maxPulls,
      visibility: o.visibility,
      idempotency_key: o.idempotencyKey,
      count: o.count,
      sealed_key: o.sealedKey,
      key_check: o.keyCheck,
    };
    const pushed = await abortable(this.#choice.own(o.signal).pointers.push(input), o.signal, 'push');
    this.#choice.learn(pushed.url);
    return pushed;
  }

  /**
   * A pull counts once it begins. What then cannot be used (a wrong key, bytes where text was wanted) may be asked for again
   * within a few minutes without counting twice.
   */
  async #use<T>(
    url: string,
    o: PullBytesOptions,
    use: (pulled: Pulled, key: string | null) => Promise<T>,
  ): Promise<T> {
    const ref = parseReadable(url);
    if (ref.key !== null) await checkKey(ref.key, () => this.inspect(url, o));
    const repeat = this.#unfinished.get(ref.id) ?? uuid(systemEnv);
    this.#unfinished.delete(ref.id);
    this.#unfinished.set(ref.id, repeat);
    if (this.#unfinished.size > MOST_UNFINISHED)
      this.#unfinished.delete(this.#unfinished.keys().next().value!);
    const asked = { idempotency_key: repeat, range: o.range, keyless: ref.key === null };
    const pulled = await this.#ask(ref, o, 'pull', ({ pointers }, id) => pointers.pull(id, asked));
    try {
      const result = await abortable(use(pulled, ref.key), o.signal, 'pull');
      this.#unfinished.delete(ref.id);
      return result;
    } catch (error) {
      await letGo(pulled.body);
      throw error;
    }
  }
}

const MOST_UNFINISHED = 100;

function cut(bytes: Uint8Array, { start, end }: { start: number; end: number }): Uint8Array {
  if (start < 0 || start >= bytes.byteLength || end <= start) {
    throw new RelayError('range_not_satisfiable', { size: bytes.byteLength });
  }
  return bytes.slice(start, end);
}

function notText(): RelayError {
  return new RelayError('not_text', {
    what: 'text to give',
    hint: 'Use pullBytes or pullStream; it does not count as another pull.',
  });
}

function checkedMetadata(metadata: unknown): JsonObject | undefined {
  if (metadata === undefined || metadata === null) return undefined;
  try {
    const plain: unknown = JSON.parse(JSON.stringify(metadata));
    if (isJsonObject(plain)) return plain;
  } catch {
    // Told below, as one with everything else that is not an object of JSON.
  }
  throw new RelayError('bad_request', { what: 'Metadata is an object that JSON can say.' });
}
