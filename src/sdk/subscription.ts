import { badRequest, isRelayError } from '../base/errors.ts';
import { DEAD_WHY_CHARS, LEASE_MS } from '../base/limits.ts';
import {
  type InboxApi,
  isPattern,
  type Message,
  type Nacked,
  type SubscribeOptions,
} from '../contract/channels.ts';
import { channelKey, unsealMessage } from './encryption.ts';
import { abortable } from './http-client.ts';
import type { ChannelKeys, ClientRelay } from './options.ts';

export interface SubscriptionOptions extends SubscribeOptions {
  /**
   * Name of an inbox in which the relay stores the cursor. The next subscription with this name continues after the
   * last handled message. `relay inbox --as NAME` shows the unread messages.
   */
  readonly durable?: string;
}

/** A received message, with methods to acknowledge it or to give it back. */
export interface ReceivedMessage extends Message {
  readonly channel: string;
  /** Marks the message as handled. In a group or with `durable`, it is not delivered again. */
  ack(): Promise<void>;
  /**
   * Gives a group message back. Returns whether it will be delivered again or has become a dead letter.
   * Returns null if the message does not belong to a group.
   */
  nack(why?: string): Promise<Nacked | null>;
  /** Renews the lease of a group message. Rejects with `conflict` if another member has the lease now. */
  extend(): Promise<void>;
}

/** Handles one message. If it returns a promise, the next message is delivered after the promise has resolved. */
export type MessageHandler = (message: ReceivedMessage) => unknown;

/**
 * A subscription to a channel. Messages go to the handler or to a `for await` loop, one after the other. Every
 * message that is sent after `ready` arrives, even if the connection is lost for some time.
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
    options: SubscriptionOptions & { keys?: ChannelKeys; handler?: MessageHandler },
  ) {
    this.#relay = relay;
    this.#channel = channel;
    this.#options = options;
    this.#keys = options.keys;
    this.#signal = options.signal
      ? AbortSignal.any([options.signal, this.#closing.signal])
      : this.#closing.signal;
    this.#cursor = options.durable === undefined ? null : cursorWriter(relay.inbox, options.durable, channel);
    this.#since = this.#begin();
    // Handle a rejection here. `ready` and the message loop report the error.
    this.#since.catch(() => {});
    this.#done = options.handler ? this.#handle(options.handler) : Promise.resolve();
    this.#done.catch((error) => {
      // Report a failure as an unhandled rejection if nobody awaits `ready` or `done`. Otherwise nobody would
      // notice it.
      if (!this.#watched) void Promise.reject(error);
    });
  }

  /** Resolves when the start position is fixed. Every message that is sent later arrives. */
  get ready(): Promise<void> {
    this.#watched = true;
    return this.#since.then(() => {});
  }

  /**
   * Resolves when a subscription with a handler is closed. Rejects when the subscription or the handler
   * fails. Without a handler, it is already resolved.
   */
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
    const subscribeOptions = { since, group, prefetch, signal: this.#signal };
    const messages = this.#relay.channels.subscribe(this.#channel, subscribeOptions);
    const key = await channelKey(this.#keys, this.#channel);
    try {
      for await (const message of messages) {
        const { channel } = message;
        const messageKey = channel === undefined ? key : await channelKey(this.#keys, channel);
        yield this.#received(await unsealMessage(message, messageKey));
        // The loop requests the next message only after it has handled this one. So the cursor can move past
        // this message.
        this.#cursor?.move(message.seq);
      }
    } finally {
      await this.#cursor?.flush();
    }
  }

  /** Closes the subscription. Waits for the running handler and stores the cursor. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#watched = true;
    // Ignore a failure here, because `done` reports it.
    await this.#done.catch(() => {});
    await this.#cursor?.flush();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #begin(): Promise<SubscribeOptions['since']> {
    const { since, group, durable, signal } = this.#options;
    if (durable !== undefined && group !== undefined) {
      throw badRequest('`durable` and `group` cannot be combined: a group stores its own position.');
    }
    if (group !== undefined) return since;
    // With wildcards there is no common start position, because each channel has its own sequence numbers. So
    // start at the current time.
    if (isPattern(this.#channel) && durable === undefined) return since ?? Date.now();
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

  /**
   * Runs the handler for a group message and renews its lease meanwhile. Acknowledges the message when the handler
   * returns; gives it back to the group when the handler throws.
   */
  async #work(message: ReceivedMessage, handler: MessageHandler): Promise<void> {
    const extending = keepExtending(message);
    try {
      await handler(message);
    } catch (error) {
      extending.stop();
      const why = error instanceof Error ? error.message : String(error);
      await message.nack(why.slice(0, DEAD_WHY_CHARS)).catch(ignoreLostLease);
      return;
    }
    extending.stop();
    await message.ack().catch(ignoreLostLease);
  }

  #received(message: Message): ReceivedMessage {
    const { channels } = this.#relay;
    const { group } = this.#options;
    const { seq, token } = message;
    const lease = group !== undefined && token !== undefined ? { group, claim: { seq, token } } : null;
    return {
      ...message,
      channel: message.channel ?? this.#channel,
      ack: async () => {
        if (lease) await channels.ack(this.#channel, lease.group, lease.claim);
        this.#cursor?.move(message.seq);
      },
      nack: async (why) => lease && channels.nack(this.#channel, lease.group, { ...lease.claim, why }),
      extend: async () => {
        if (lease) await channels.extend(this.#channel, lease.group, lease.claim);
      },
    };
  }
}

/**
 * Renews the lease of a message three times per lease duration until `stop` is called. If another member has the lease
 * now, the renewal stops and `lost` is called. Other errors are ignored: when the relay answers again, the lease may
 * still be valid.
 */
export function keepExtending(message: ReceivedMessage, lost?: () => void): { stop(): void } {
  const lease = (message.lease_until ?? 0) - Date.now();
  const extend = () =>
    message.extend().catch((error) => {
      if (!isRelayError(error, 'conflict')) return;
      clearInterval(timer);
      lost?.();
    });
  // The clocks of the relay and of this machine may differ, so the computed rest of the lease may be too long. Use at
  // most the default lease, so that the renewal does not come too late.
  const timer = setInterval(extend, Math.max(Math.min(lease, LEASE_MS) / 3, 100));
  return { stop: () => clearInterval(timer) };
}

/** Ignores the error that another member now has the lease. Throws any other error. */
export function ignoreLostLease(error: unknown): null {
  if (isRelayError(error, 'conflict')) return null;
  throw error;
}

/**
 * Delay in ms before a new cursor is written. If the process crashes in this time, the messages that it
 * handled meanwhile are delivered again.
 */
const WRITE_AFTER_MS = 200;

/** Writes the cursor of a durable subscriber to its inbox, at most once per `WRITE_AFTER_MS`. */
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
    // Ignore the failure of an earlier write: this write stores a later position, which replaces the earlier
    // one.
    writing = writing.catch(() => {}).then(write);
    return writing;
  };
  const move = (seq: number): void => {
    if (seq <= reached) return;
    reached = seq;
    // Ignore a failure: the next message or `flush` writes the cursor.
    timer ??= setTimeout(() => flush().catch(() => {}), WRITE_AFTER_MS);
  };
  return { move, flush };
}
