import type { Env } from '../base/env.ts';
import type { Engine } from '../kernel/engine.ts';
import type { ActivityLog } from './activity/activity-log.ts';
import type { TextWork } from './text-work.ts';
import type { Capability } from './threads/capabilities/capability.ts';

/** What every part of the domain is built on. */
export interface Deps {
  readonly engine: Engine;
  /** Its time is that of the engine: what is made for one store agrees about what has expired. */
  readonly env: Env;
  readonly texts: TextWork;
  /** How long an answer waits until a long content that it stored can be searched; `INDEX_WAIT_MS` by default. */
  readonly indexWaitMs?: number;
  /** Told of everything that people who watch may want to know. */
  readonly activity: ActivityLog;
  /** What threads can have done beside what is built in; asked for when one is first wanted. */
  readonly capabilities?: () => Promise<readonly Capability[]>;
}
