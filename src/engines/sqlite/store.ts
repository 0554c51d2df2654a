import type { Env } from '../../base/env.ts';
import type { EngineLimits } from '../../kernel/engine.ts';
import type { CommitQueue } from './commit-queue.ts';
import type { Database } from './database.ts';

/** What the parts of an open store share. */
export interface Store {
  readonly home: string;
  readonly env: Env;
  readonly limits: EngineLimits;
  readonly db: Database;
  readonly queue: CommitQueue;
}
