import type { Env } from '../base/env.ts';
import type { Engine } from '../kernel/engine.ts';
import type { ActivityLog } from './activity/activity-log.ts';
import type { TextWork } from './text-work.ts';
import type { Capability } from './threads/capabilities/capability.ts';

/** Dependencies of every part of the domain. */
export interface Deps {
  readonly engine: Engine;
  /**
   * Clock and source of random bytes. The clock is the engine's, so that all processes with the same store agree on
   * what has expired.
   */
  readonly env: Env;
  readonly texts: TextWork;
  /**
   * Maximum time in ms that a request waits until the content that it stored is in the search index. Default:
   * `INDEX_WAIT_MS`.
   */
  readonly indexWaitMs?: number;
  /** Records events for people who watch a tenant. */
  readonly activity: ActivityLog;
  /** Loads additional capabilities. Called at first use. The built-in capabilities always exist. */
  readonly capabilities?: () => Promise<readonly Capability[]>;
}
