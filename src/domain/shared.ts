import type { Env } from '../base/env.ts';
import { ActivityLog } from './activity/activity-log.ts';
import type { Deps } from './deps.ts';
import { KeyUse } from './keys/key-use.ts';
import { PointerLookup } from './pointers/record.ts';
import { Receipts } from './receipts/receipts.ts';
import { Statistics } from './usage/statistics.ts';

/**
 * What is noted in memory and written behind, and what is remembered. A core has its own by default; where a core lives only as long
 * as a request, those of one process have this in common, so that what several requests noted is written together.
 */
export class Shared {
  readonly activity: ActivityLog;
  readonly receipts: Receipts;
  readonly statistics: Statistics;
  readonly keyUse: KeyUse;
  readonly shareUse: KeyUse;

  constructor({ engine, env }: Pick<Deps, 'engine'> & { env: Pick<Env, 'randomBytes'> }) {
    const store = { engine, env: { randomBytes: env.randomBytes, now: engine.now } };
    this.activity = new ActivityLog(store);
    this.receipts = new Receipts({ ...store, activity: this.activity }, new PointerLookup(store));
    this.statistics = new Statistics(store);
    this.keyUse = new KeyUse(store);
    this.shareUse = new KeyUse(store);
  }

  /** Writes what waits: before the store is closed. */
  async flush(): Promise<void> {
    await this.receipts.flush();
    await this.statistics.flush();
    await this.keyUse.flush();
    await this.shareUse.flush();
    await this.activity.flush();
  }
}
