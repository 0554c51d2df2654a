import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { pause } from '../../base/pause.ts';
import type { Database } from './database.ts';
import { PAGE_BYTES } from './schema.ts';

/** How long the WAL gets before it is copied into the database: rare enough to be cheap, short enough to read fast. */
const WAL_PAGES = (16 * 1024 * 1024) / PAGE_BYTES;

/** How often to try to empty the WAL between the reads and writes of others. */
const SETTLE_TRIES = 20;

/** As source, so that it also runs from a bundle, where there is no file to load. */
const WORKER = `
const { workerData } = require('node:worker_threads');
const { DatabaseSync } = require('node:sqlite');
const db = new DatabaseSync(workerData);
db.exec('PRAGMA busy_timeout = 5; PRAGMA wal_checkpoint(PASSIVE)');
db.close();
`;

/**
 * Keeps the WAL short without holding up commits: a thread copies most of it, then a short checkpoint here does what
 * has come since. Done here alone it would block the loop; in the thread alone the WAL would never start anew.
 * Where SQLite cannot say how long the WAL is, and in short-lived processes, SQLite's own way is kept.
 */
export class Checkpoints {
  readonly #db: Database;
  readonly #active: boolean;
  #running: Promise<void> | undefined;

  constructor(db: Database, role: 'server' | 'cli') {
    this.#db = db;
    this.#active = role === 'server' && knowsNoop();
    if (this.#active) db.exec('PRAGMA wal_autocheckpoint = 0');
  }

  /** After each COMMIT. */
  committed(): void {
    if (!this.#active || this.#running) return;
    const { log, checkpointed } = this.#run('NOOP');
    if (log - checkpointed < WAL_PAGES) return;
    this.#running = this.#inThread().then(() => {
      this.#run('PASSIVE');
      this.#running = undefined;
    });
  }

  /**
   * Brings everything into the database and empties the WAL, so that space that was freed goes back to the disk and
   * what was overwritten is nowhere to be read. False where somebody was in the way all the time.
   */
  async settle(): Promise<boolean> {
    await this.#running;
    if (this.#active) await this.#inThread();
    for (let tries = 0; this.#run('TRUNCATE').busy !== 0; tries++) {
      if (tries === SETTLE_TRIES) return false;
      await pause(Math.random() * 20);
    }
    return true;
  }

  async close(): Promise<void> {
    await this.#running;
  }

  /** Never fails: what is not done now is done the next time. */
  async #inThread(): Promise<void> {
    try {
      await once(new Worker(WORKER, { eval: true, execArgv: [], workerData: this.#db.path }), 'exit');
    } catch {
      // The WAL stays longer meanwhile.
    }
  }

  /** Being in somebody's way is fine: the rest is done next time. */
  #run(mode: 'NOOP' | 'PASSIVE' | 'TRUNCATE'): { busy: number; log: number; checkpointed: number } {
    try {
      const row = this.#db.sql(`PRAGMA wal_checkpoint(${mode})`).get();
      return row as { busy: number; log: number; checkpointed: number };
    } catch {
      return { busy: 1, log: 0, checkpointed: 0 };
    }
  }
}

/** SQLite 3.51 came to know it; before, the word is taken for a checkpoint. */
function knowsNoop(): boolean {
  const [major, minor] = (process.versions.sqlite ?? '0').split('.').map(Number);
  return major! > 3 || (major === 3 && minor! >= 51);
}
