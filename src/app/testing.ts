import { systemEnv } from '../base/env.ts';
import { LOCAL_CALLER } from '../contract/caller.ts';
import { RelayCore } from '../domain/relay-core.ts';
import { openMemory } from '../engines/memory/engine.ts';
import { ContextRelay } from '../sdk/context-relay.ts';
import { ownTextWork } from './store/own-text-work.ts';

/** Entry point `contextrelay/testing`. Every export here is public API; src/public/testing.ts has its types. */

const BASE = 'http://relay.test';

/**
 * Returns a client of a new, empty relay in this process: the real relay, with its data in memory, without
 * network and files.
 */
export function memoryRelay(): MemoryRelay {
  let shift = 0;
  const env = { ...systemEnv, now: () => systemEnv.now() + shift };
  const engine = openMemory({ env });
  const core = new RelayCore({ engine, env, texts: ownTextWork });
  const advance = (ms: number) => {
    shift += ms;
  };
  return new MemoryRelay(core, advance, async () => {
    await core.close();
    await engine[Symbol.asyncDispose]();
  });
}

class MemoryRelay extends ContextRelay implements AsyncDisposable {
  readonly advance: (ms: number) => void;
  readonly #close: () => Promise<void>;

  constructor(core: RelayCore, advance: (ms: number) => void, close: () => Promise<void>) {
    super({ relay: core.relay(LOCAL_CALLER, BASE), ownBases: [BASE] });
    this.advance = advance;
    this.#close = close;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
  }
}
