import { closeSync, fsync, fsyncSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';

/** Makes names survive a power cut: a file is only as durable as its entry in the folder. */
export class FolderSync {
  readonly #durable: boolean;
  readonly #running = new Map<string, Promise<void>>();
  readonly #next = new Map<string, Promise<void>>();

  constructor(durable: boolean) {
    this.#durable = durable;
  }

  /**
   * Resolves when every name that is in the folder now is there for good. Whoever asks while an fsync is under way
   * shares the next one, since the running one may have begun too early.
   */
  sync(folder: string): Promise<void> {
    if (!this.#durable) return Promise.resolve();
    const shared = this.#next.get(folder);
    if (shared) return shared;
    const before = this.#running.get(folder) ?? Promise.resolve();
    const next = before
      .catch(() => {})
      .then(() => {
        this.#next.delete(folder);
        this.#running.set(folder, next);
        return syncFolder(folder);
      })
      .finally(() => {
        if (this.#running.get(folder) === next) this.#running.delete(folder);
      });
    this.#next.set(folder, next);
    return next;
  }

  /** The same at once, for use inside a transaction. */
  syncNow(folder: string): void {
    if (this.#durable) syncFolderNow(folder);
  }

  /** Makes the folder, for nobody else to read, and every one above it that is missing. */
  ensure(folder: string): void {
    const first = mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (first === undefined || !this.#durable) return;
    for (let made = folder; ; made = dirname(made)) {
      syncFolderNow(dirname(made));
      if (made === first || made === dirname(made)) return;
    }
  }
}

export function syncFolderNow(folder: string): void {
  if (process.platform === 'win32') return;
  const fd = openSync(folder, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Windows cannot open a folder, and needs not: NTFS journals its names. */
function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return Promise.resolve();
  const fd = openSync(folder, 'r');
  return new Promise((resolve, reject) => {
    fsync(fd, (error) => {
      closeSync(fd);
      if (error) reject(error);
      else resolve();
    });
  });
}
