import { ownTextWork } from '../../src/app/store/own-text-work.ts';
import { type Env, systemEnv } from '../../src/base/env.ts';
import { type Caller, LOCAL_CALLER } from '../../src/contract/caller.ts';
import type { Message } from '../../src/contract/channels.ts';
import type { Relay } from '../../src/contract/relay.ts';
import type { ChannelSettings } from '../../src/domain/channels/settings.ts';
import { RelayCore } from '../../src/domain/relay-core.ts';
import type { Engine } from '../../src/kernel/engine.ts';
import { openUnderTest } from '../engine-under-test.ts';

export const BASE = 'http://relay.test';

/** A `RelayCore` on the engine under test (by default memory), with a clock that the test can move. */
export interface CoreUnderTest extends AsyncDisposable {
  readonly core: RelayCore;
  readonly engine: Engine;
  readonly relay: Relay;
  /** Returns the relay API on this store for another caller. */
  as(name: string, tenant?: string): Relay;
  /** Opens another `RelayCore` on the same store. To the domain it looks like another process. */
  another(): RelayCore;
  advance(ms: number): void;
  /** Number of ms by which the clock has been moved. */
  readonly shift: number;
}

/** A clock that a test can move. */
export class MovedClock implements Env {
  readonly randomBytes = systemEnv.randomBytes;
  shift = 0;
  now = (): number => Date.now() + this.shift;
}

export function openTestCore(
  channels: Partial<ChannelSettings> = {},
  o: { engine?: Engine; clock?: MovedClock } = {},
): CoreUnderTest {
  const env = o.clock ?? new MovedClock();
  const engine = o.engine ?? openUnderTest(env);
  const cores: RelayCore[] = [];
  const another = () => {
    const core = new RelayCore({ engine, env, texts: ownTextWork }, { channels });
    cores.push(core);
    return core;
  };
  const core = another();
  return {
    core,
    engine,
    relay: core.relay(LOCAL_CALLER, BASE),
    as: (name, tenant = LOCAL_CALLER.tenant) => core.relay(callerNamed(name, tenant), BASE),
    another,
    advance: (ms) => {
      env.shift += ms;
    },
    get shift() {
      return env.shift;
    },
    async [Symbol.asyncDispose]() {
      for (const each of cores) await each.close();
      await engine[Symbol.asyncDispose]();
    },
  };
}

export function callerNamed(name: string, tenant: string = LOCAL_CALLER.tenant): Caller {
  return { ...LOCAL_CALLER, tenant, name };
}

/** A subscription whose messages a test takes one by one. */
export interface Reader extends AsyncDisposable {
  take(count: number): Promise<Message[]>;
  stop(): void;
  /** All messages received so far. */
  readonly seen: readonly Message[];
}

export function readFrom(
  relay: Relay,
  channel: string,
  o: Parameters<Relay['channels']['subscribe']>[1] = {},
): Reader {
  const abort = new AbortController();
  const iterator = relay.channels.subscribe(channel, { ...o, signal: abort.signal })[Symbol.asyncIterator]();
  const seen: Message[] = [];
  return {
    seen,
    async take(count) {
      const messages: Message[] = [];
      while (messages.length < count) {
        const next = await iterator.next();
        if (next.done)
          throw new Error(`the subscription ended after ${messages.length} of ${count} messages`);
        messages.push(next.value);
        seen.push(next.value);
      }
      return messages;
    },
    stop: () => abort.abort(),
    async [Symbol.asyncDispose]() {
      abort.abort();
      await iterator.return?.();
    },
  };
}

export function encode(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

export function claimOf(message: Message): { seq: number; token: number } {
  return { seq: message.seq, token: message.token! };
}
