import { closeSync, constants, type FSWatcher, openSync, watch, writeSync } from 'node:fs';
import { join } from 'node:path';

const WAKE_FILE = 'wake';

/**
 * How processes tell each other that streams have grown: a file that is written after a commit and watched by
 * who waits. Only a hint, which may get lost; nothing is ever read from it.
 */
export class WakeFile {
  readonly #path: string;
  #fd = -1;
  #watcher: FSWatcher | undefined;

  constructor(home: string) {
    this.#path = join(home, WAKE_FILE);
  }

  /** After COMMIT: whoever is woken earlier looks too early. */
  touch(): void {
    try {
      if (this.#fd < 0) this.#fd = this.#open();
      writeSync(this.#fd, '.', 0);
    } catch {
      // The commit stands; others will see it when they look by themselves.
    }
  }

  /** Does not keep the process alive. */
  watch(woken: () => void): void {
    try {
      closeSync(this.#open());
      this.#watcher = watch(this.#path, { persistent: false }, woken);
      this.#watcher.on('error', () => this.unwatch());
    } catch {
      // Some file systems cannot be watched, and watches can run out.
    }
  }

  unwatch(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
  }

  close(): void {
    this.unwatch();
    if (this.#fd >= 0) closeSync(this.#fd);
    this.#fd = -1;
  }

  #open(): number {
    return openSync(this.#path, constants.O_WRONLY | constants.O_CREAT, 0o600);
  }
}
