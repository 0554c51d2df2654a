import type { ServerOptions } from '../../src/app/serve/serve.ts';
import type { Env } from '../../src/base/env.ts';
import type { CoreOptions, RelayCore } from '../../src/domain/relay-core.ts';
import type { TextWork } from '../../src/domain/text-work.ts';
import type { LogEvent } from '../../src/interfaces/http/deps.ts';
import type { Engine } from '../../src/kernel/engine.ts';

export interface RelayUnderTest extends AsyncDisposable {
  readonly url: string;
  readonly core: RelayCore;
  readonly engine: Engine;
  readonly log: LogEvent[];
  /** Moves the relay's clock forward. */
  advance(ms: number): void;
  /** Resolves when all write-behind data has been written. */
  settle(): Promise<void>;
  /** Stops the server and the core, but not the engine. */
  stop(): Promise<void>;
}

export interface RelayOptions {
  readonly open?: (env: Env) => Promise<Engine> | Engine;
  /** Clock and random source. Default: the system's. */
  readonly env?: Env;
  readonly core?: CoreOptions;
  /** Counts tokens and makes excerpts and previews. Default: in the process of the test. */
  readonly texts?: TextWork;
  readonly server?: Partial<ServerOptions>;
}
