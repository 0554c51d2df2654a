import type { Env } from '../base/env.ts';
import type { Engine } from '../kernel/engine.ts';
import type { ActivityLog } from './activity/activity-log.ts';
import type { TextWork } from './text-work.ts';
import type { Capability } from './threads/capabilities/capability.ts';

/** What every part of the domain needs. */
export interface Deps {
  readonly engine: Engine;
  /** Uses the engine's clock, so that all users of a store agree about what has expired. */
  readonly env: Env;
  readonly texts: TextWork;
  /** How long an answer waits until long content that it stored is searchable; `INDEX_WAIT_MS` by default. */
  readonly indexWaitMs?: number;
  /** Records events for people who watch. */
  readonly activity: ActivityLog;
  /** Loads capabilities besides the built-in ones, at first use. */
  readonly capabilities?: () => Promise<readonly Capability[]>;
}
