import { closeSync, existsSync, openSync, rmSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { RelayError } from '../../base/errors.ts';

/** Enough for SQLite's files beside the database and for some hundred deletions. */
const RESERVE_BYTES = 1024 * 1024;

/**
 * A file of zeros, given up on a full disk so that what frees room or takes rights away can still be written. Until
 * there is room for it again, nothing else is.
 */
export class Reserve {
  readonly #path: string;
  /** False while there is no room for it. */
  held = false;

  constructor(home: string) {
    this.#path = join(home, 'relay.db-reserve');
  }

  /** Makes it where it is missing and there is room. */
  keep(): void {
    this.held = true;
    if (existsSync(this.#path)) return;
    try {
      const file = openSync(this.#path, 'wx', 0o600);
      try {
        for (let left = RESERVE_BYTES; left > 0; ) left -= writeSync(file, Buffer.alloc(left));
      } finally {
        closeSync(file);
      }
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // Whatever else is wrong, the store itself will say.
      if (code === 'ENOSPC' || code === 'EDQUOT') this.release();
    }
  }

  release(): void {
    rmSync(this.#path, { force: true });
    this.held = false;
  }

  warning(): string {
    const { message, hint } = this.missing();
    return `${message.replace('Nothing was stored', 'Nothing new is stored')} ${hint}`;
  }

  /** Why nothing but deletions is written while there is none. */
  missing(): RelayError {
    return new RelayError('store_full', { what: `the disk under ${dirname(this.#path)} is full` });
  }
}
