import type { Env } from '../base/env.ts';
import type { Engine } from '../kernel/engine.ts';
import type { TextWork } from './text-work.ts';
import type { Capability } from './threads/capabilities/capability.ts';

/** What every part of the domain is built on. */
export interface Deps {
  readonly engine: Engine;
  /** Its time is that of the engine: what is made for one store agrees about what has expired. */
  readonly env: Env;
  readonly texts: TextWork;
  /** What threads can have done beside what is built in; asked for when threads are first used. */
  readonly capabilities?: () => Promise<readonly Capability[]>;
}
