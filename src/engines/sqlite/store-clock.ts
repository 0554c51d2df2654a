import type { Env } from '../../base/env.ts';
import type { Database } from './database.ts';

/** Where the store keeps the largest time that any process has seen. The engine's own: listed and counted nowhere. */
export const CLOCK_KEY = 'sys/clock';

/** How far the time has to get before it is kept again, with whatever is committed then. */
const KEEP_MS = 1000;
/** How far the machine's clock has to get before this process looks at the time that others have kept. */
const LOOK_MS = 100;

/** A longer step of the machine's clock may be a jump: no more than this of it counts as time that has passed. */
const STEP_MS = 60_000;

/**
 * The time of the store: that of the machine, except that it never goes back, whichever process asks. So what has
 * expired stays expired, and the entries of a log are in the order of their times. While the machine's clock is
 * behind, the time goes on at half its pace: leases still end, and the two meet again.
 */
export class StoreClock implements Env {
  readonly randomBytes: Env['randomBytes'];
  readonly #env: Env;
  readonly #db: Database;
  #time = 0;
  /** What the machine's clock said when it was last asked, and when the kept time was last looked at. */
  #machine: number;
  #looked = Number.NEGATIVE_INFINITY;
  #kept = 0;

  constructor(env: Env, db: Database) {
    this.randomBytes = env.randomBytes;
    this.#env = env;
    this.#db = db;
    this.#machine = env.now();
  }

  now(): number {
    const machine = this.#env.now();
    if (Math.abs(machine - this.#looked) >= LOOK_MS) this.#look(machine);
    const passed = Math.min(Math.max(machine - this.#machine, 0), STEP_MS);
    this.#time = machine >= this.#time ? machine : this.#time + passed / 2;
    this.#machine = machine;
    return Math.floor(this.#time);
  }

  /** Keeps the time in the store. To be called inside every transaction. */
  keep(): void {
    const time = this.now();
    if (time < this.#kept + KEEP_MS) return;
    const sql = `INSERT INTO records (key, revision, expires, value) VALUES (?, 0, NULL, ?)
      ON CONFLICT (key) DO UPDATE SET value = max(CAST(value AS INTEGER), CAST(excluded.value AS INTEGER))`;
    this.#db.sql(sql).run(CLOCK_KEY, String(time));
    this.#kept = time;
  }

  #look(machine: number): void {
    this.#looked = machine;
    try {
      const sql = 'SELECT value FROM records WHERE key = ?';
      this.#kept = Number(this.#db.sql<{ value: string }>(sql).get(CLOCK_KEY)?.value ?? 0);
    } catch {
      // The store is busy or closed; the time of this process still holds.
      return;
    }
    this.#time = Math.max(this.#time, this.#kept);
  }
}
