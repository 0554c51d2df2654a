import { type Relay, VERBS } from '../contract/relay.ts';
import { HttpClient, type HttpOptions } from './http-client.ts';
import { httpPointers } from './http-pointers.ts';
import { httpThreads } from './http-threads.ts';
import { followSocket } from './socket-follower.ts';
import { VerbCalls } from './verb-calls.ts';

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

  constructor(options: HttpOptions) {
    const calls = new VerbCalls(new HttpClient(options));
    this.pointers = calls.api(VERBS.pointers, httpPointers(calls));
    this.channels = calls.api(VERBS.channels, {
      subscribe: (channel, o = {}) => followSocket(calls, options, channel, o),
    });
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
