import { systemEnv } from '../base/env.ts';
import { uuid } from '../base/ids.ts';
import type { Json } from '../base/json.ts';
import type {
  ChannelDetail,
  ChannelPage,
  ChannelsApi,
  Claim,
  Message,
  Published,
  SubscribeOptions,
} from '../domain/channels/types.ts';
import { HttpClient, type HttpOptions } from './http-client.ts';
import { JsonCalls } from './json-calls.ts';
import { followSocket, type SocketOptions } from './socket-follower.ts';

/** Channels of a relay at the other end of HTTP and WebSocket. */
export class HttpChannels implements ChannelsApi {
  readonly #options: HttpOptions & Pick<SocketOptions, 'onConnection'>;
  readonly #client: HttpClient;
  readonly #calls: JsonCalls;

  constructor(options: HttpOptions & Pick<SocketOptions, 'onConnection'>, client: HttpClient) {
    this.#options = options;
    this.#client = client;
    this.#calls = new JsonCalls(client);
  }

  list(o: { after?: string; limit?: number } = {}): Promise<ChannelPage> {
    return this.#calls.call({ path: '/channels', query: o, doing: 'channels' });
  }

  inspect(channel: string): Promise<ChannelDetail> {
    return this.#calls.call({ path: channelPath(channel), doing: 'channel' });
  }

  async position(channel: string): Promise<number> {
    const path = `${channelPath(channel)}/position`;
    return (await this.#calls.call<{ seq: number }>({ path, doing: 'subscribe' })).seq;
  }

  publish(channel: string, msg: Json, o: { idempotency_key?: string } = {}): Promise<Published> {
    return this.#calls.call({
      method: 'POST',
      path: channelPath(channel),
      body: { msg },
      // A message that was sent twice is still one message.
      headers: { 'Idempotency-Key': o.idempotency_key ?? uuid(systemEnv) },
      repeatable: true,
      doing: 'publish',
    });
  }

  subscribe(channel: string, o: SubscribeOptions = {}): AsyncIterable<Message> {
    const { apiKey } = this.#options;
    // It outlives any one answer: neither the time limit nor the retries of a call are for it.
    const client = new HttpClient({ ...this.#options, retries: 0, signal: o.signal });
    const calls = new JsonCalls(client);
    return followSocket({
      ...o,
      base: client.base,
      channel,
      reached: this.#client.answered,
      onConnection: this.#options.onConnection,
      position: () => this.position(channel),
      probe: (path) => calls.send({ path, doing: 'subscribe' }),
      ticket: async () => {
        if (!apiKey) return null;
        const call = { method: 'POST', path: '/ws-ticket', repeatable: true, doing: 'subscribe' } as const;
        return (await calls.call<{ ticket: string }>(call)).ticket;
      },
    });
  }

  ack(channel: string, group: string, claim: Claim): Promise<{ seq: number }> {
    return this.#settle(channel, group, 'ack', claim);
  }

  nack(channel: string, group: string, claim: Claim): Promise<{ seq: number; dead: boolean }> {
    return this.#settle(channel, group, 'nack', claim);
  }

  extend(channel: string, group: string, claim: Claim): Promise<{ seq: number; lease_until: number }> {
    return this.#settle(channel, group, 'extend', claim);
  }

  removeGroup(channel: string, group: string): Promise<void> {
    return this.#calls.send({ method: 'DELETE', path: groupPath(channel, group), doing: 'remove a group' });
  }

  ticket(): Promise<{ ticket: string; expires_at: string }> {
    return this.#calls.call({ method: 'POST', path: '/ws-ticket', repeatable: true, doing: 'ticket' });
  }

  /** Saying twice that work is done, or that it goes on, changes nothing; giving it back twice is refused. */
  #settle<T>(channel: string, group: string, what: 'ack' | 'nack' | 'extend', claim: Claim): Promise<T> {
    const { seq, token } = claim;
    return this.#calls.call({
      method: 'POST',
      path: `${groupPath(channel, group)}/${what}`,
      body: { seq, token },
      repeatable: what !== 'nack',
      doing: what,
    });
  }
}

function channelPath(channel: string): string {
  return `/channels/${encodeURIComponent(channel)}`;
}

function groupPath(channel: string, group: string): string {
  return `${channelPath(channel)}/groups/${encodeURIComponent(group)}`;
}
