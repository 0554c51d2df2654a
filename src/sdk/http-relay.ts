import { channels } from '../contract/channels.ts';
import { type Relay, VERBS } from '../contract/relay.ts';
import { HttpClient, type HttpOptions } from './http-client.ts';
import { httpPointers } from './http-pointers.ts';
import { httpThreads } from './http-threads.ts';
import { followSocket, type SocketOptions } from './socket-follower.ts';
import { type HandMade, VerbCalls } from './verb-calls.ts';

/** A relay at the other end of HTTP, made from the table; only what streams or stays open is written by hand. */
export class HttpRelay implements Relay {
  readonly pointers: Relay['pointers'];
  readonly channels: Relay['channels'];
  readonly inbox: Relay['inbox'];
  readonly receipts: Relay['receipts'];
  readonly threads: Relay['threads'];
  readonly capabilities: Relay['capabilities'];
  readonly keys: Relay['keys'];
  readonly usage: Relay['usage'];
  readonly tasks: Relay['tasks'];
  readonly agents: Relay['agents'];

  constructor(options: HttpOptions & Pick<SocketOptions, 'onConnection'>) {
    const calls = new VerbCalls(new HttpClient(options));
    this.pointers = calls.api(VERBS.pointers, httpPointers(calls));
    this.channels = calls.api(VERBS.channels, httpChannels(calls, options));
    this.inbox = calls.api(VERBS.inbox, {});
    this.receipts = calls.api(VERBS.receipts, {});
    this.threads = calls.api(VERBS.threads, httpThreads(calls, options));
    this.capabilities = calls.api(VERBS.capabilities, {});
    this.keys = calls.api(VERBS.keys, {});
    this.usage = calls.api(VERBS.usage, {});
    this.tasks = calls.api(VERBS.tasks, {});
    this.agents = calls.api(VERBS.agents, {});
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

/** Messages come over a WebSocket, which stays open. */
function httpChannels(
  calls: VerbCalls,
  options: HttpOptions & Pick<SocketOptions, 'onConnection'>,
): HandMade<typeof channels> {
  return {
    subscribe(channel, o = {}) {
      // It outlives any one answer: neither the time limit nor the retries of a call are for it.
      const lasting = new VerbCalls(new HttpClient({ ...options, retries: 0, signal: o.signal }));
      return followSocket({
        ...o,
        base: lasting.client.base,
        channel,
        reached: calls.client.answered,
        onConnection: options.onConnection,
        position: () => calls.call<number>(channels.position, { name: channel }),
        probe: (path) => lasting.probe(path, 'subscribe'),
        ticket: async () => {
          if (!options.apiKey) return null;
          return (await lasting.call<{ ticket: string }>(channels.ticket, {})).ticket;
        },
      });
    },
  };
}
