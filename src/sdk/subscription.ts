import { isRelayError, RelayError } from '../base/errors.ts';
import { LEASE_MS } from '../base/limits.ts';
import type { InboxApi, Message, Nacked, SubscribeOptions } from '../contract/channels.ts';
import { channelKey, unsealed } from './encryption.ts';
import { abortable } from './http-client.ts';
import type { ChannelKeys, ClientRelay } from './options.ts';

export interface SubscriptionOptions extends SubscribeOptions {
  /**
   * A name under which the relay remembers what was handled: the next subscription with it goes on from there. It is
   * the name of an inbox, so `relay inbox --as NAME` shows what is left.
   */
  readonly durable?: string;
}

/** A message, with what can be answered to it. */
export interface ReceivedMessage extends Message {
  readonly channel: string;
  /** Handled. In a group the work is done; with `durable` it is not given again. */
  ack(): Promise<void>;
  /**
   * In a group: give the work back. It is handed out again a while later, or is among the dead letters now: the answer tells
   * which. Null where there is nothing to give back.
   */
  nack(): Promise<Nacked | null>;
  /** In a group: still at work. Rejects with `conflict` once the work is another's. */
  extend(): Promise<void>;
}

export type MessageHandler = (message: ReceivedMessage) => unknown;

/**
 * The messages of a channel, to loop over or for a handler, one after the other. Whatever comes after `ready` is in it,
 * also after lost connections.
 */
export class Subscription implements AsyncIterable<ReceivedMessage>, AsyncDisposable {
  readonly #relay: ClientRelay;
  readonly #channel: string;
  readonly #options: SubscriptionOptions;
  readonly #keys: ChannelKeys | undefined;
  readonly #closing = new AbortController();
  readonly #signal: AbortSignal;
  readonly #since: Promise<SubscribeOptions['since']>;
  readonly #cursor: ReturnType<typeof cursorWriter> | null;
  readonly #done: Promise<void>;
  #watched = false;

  constructor(
    relay: ClientRelay,
    channel: string,
    o: SubscriptionOptions & { keys?: ChannelKeys; handler?: MessageHandler },
  ) {
    this.#relay = relay;
    this.#channel = channel;
    this.#options = o;
    this.#keys = o.keys;
    this.#signal = o.signal ? AbortSignal.any([o.signal, this.#closing.signal]) : this.#closing.signal;
    this.#cursor = o.durable === undefined ? null : cursorWriter(relay.inbox, o.durable, channel);
    this.#since = this.#begin();
    // Whoever reads `ready` or the messages hears of it.
    this.#since.catch(() => {});
    this.#done = o.handler ? this.#handle(o.handler) : Promise.resolve();
    this.#done.catch((error) => {
      // Nobody would hear of it: better an unhandled rejection than a subscription that ended in silence.
      if (!this.#watched) void Promise.reject(error);
    });
  }

  /** Resolves once nothing that is sent from now on can be missed. */
  get ready(): Promise<void> {
    this.#watched = true;
    return this.#since.then(() => {});
  }

  /** With a handler: resolves when the subscription was closed, rejects when it or the handler failed. */
  get done(): Promise<void> {
    this.#watched = true;
    return this.#done;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ReceivedMessage> {
    const { group, prefetch } = this.#options;
    const since = await this.#since.catch((error): undefined => {
      if (!this.#signal.aborted) throw error;
    });
    if (this.#signal.aborted) return;
    const asked = { since, group, prefetch, signal: this.#signal };
    const messages = this.#relay.channels.subscribe(this.#channel, asked);
    const key = await channelKey(this.#keys, this.#channel);
    try {
      for await (const message of messages) {
        yield this.#received(await unsealed(message, key));
        // Asking for the next one says that this one is handled.
        this.#cursor?.move(message.seq);
      }
    } finally {
      await this.#cursor?.flush();
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#watched = true;
    // `done` tells a failure; closing only waits for the end.
    await this.#done.catch(() => {});
    await this.#cursor?.flush();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #begin(): Promise<SubscribeOptions['since']> {
    const { since, group, durable, signal } = this.#options;
    if (durable !== undefined && group !== undefined) {
      throw new RelayError('bad_request', {
        what: 'A group remembers what was handled by itself: `durable` and `group` do not go together.',
      });
    }
    if (group !== undefined) return since;
    if (durable !== undefined) {
      const followed = this.#relay.inbox.follow(durable, this.#channel, { since });
      return (await abortable(followed, signal, 'subscribe')).cursor;
    }
    return since ?? abortable(this.#relay.channels.position(this.#channel), signal, 'subscribe');
  }

  async #handle(handler: MessageHandler): Promise<void> {
    for await (const message of this) {
      if (message.token === undefined) await handler(message);
      else await this.#work(message, handler);
    }
  }

  /** Acknowledged when the handler is through, given back when it throws; the lease is extended while it runs. */
  async #work(message: ReceivedMessage, handler: MessageHandler): Promise<void> {
    const extending = keepExtending(message);
    try {
      await handler(message);
    } catch {
      extending.stop();
      await message.nack().catch(ifLost);
      return;
    }
    extending.stop();
    await message.ack().catch(ifLost);
  }

  #received(message: Message): ReceivedMessage {
    const { channels } = this.#relay;
    const { group } = this.#options;
    const { seq, token } = message;
    const held = group !== undefined && token !== undefined ? { group, claim: { seq, token } } : null;
    return {
      ...message,
      channel: this.#channel,
      ack: async () => {
        if (held) await channels.ack(this.#channel, held.group, held.claim);
        this.#cursor?.move(message.seq);
      },
      nack: async () => held && channels.nack(this.#channel, held.group, held.claim),
      extend: async () => {
        if (held) await channels.extend(this.#channel, held.group, held.claim);
      },
    };
  }
}

/**
 * Renews the lease three times as often as needed, until it is stopped. Once the work is another's it stops by itself and
 * calls `lost`. Any other failure is a relay that does not answer just now: the lease may still be good when it does.
 */
export function keepExtending(message: ReceivedMessage, lost?: () => void): { stop(): void } {
  const lease = (message.lease_until ?? 0) - Date.now();
  const extend = () =>
    message.extend().catch((error) => {
      if (!isRelayError(error, 'conflict')) return;
      clearInterval(timer);
      lost?.();
    });
  // The clock of the relay may be far from the one here, so a lease is never taken to be longer than by default.
  const timer = setInterval(extend, Math.max(Math.min(lease, LEASE_MS) / 3, 100));
  return { stop: () => clearInterval(timer) };
}

/** Work that was lost in the meantime is another member's, and its answer counts; anything else is thrown. */
export function ifLost(error: unknown): null {
  if (isRelayError(error, 'conflict')) return null;
  throw error;
}

/** How long what was handled may go unwritten: a crash gives it once more. */
const WRITE_AFTER_MS = 200;

/** Tells the relay now and then how far a durable subscriber has come. */
function cursorWriter(inbox: InboxApi, agent: string, channel: string) {
  let reached = 0;
  let written = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let writing = Promise.resolve();

  const write = async () => {
    const seq = reached;
    if (seq <= written) return;
    await inbox.markRead(agent, { [channel]: seq });
    written = seq;
  };
  const flush = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    // A write that failed is made good by this one, which covers it.
    writing = writing.catch(() => {}).then(write);
    return writing;
  };
  const move = (seq: number): void => {
    if (seq <= reached) return;
    reached = seq;
    // Where the relay is out of reach, the next message or the end tries again.
    timer ??= setTimeout(() => flush().catch(() => {}), WRITE_AFTER_MS);
  };
  return { move, flush };
}
