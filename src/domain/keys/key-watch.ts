import { KEY_CHECK_MS } from '../../base/limits.ts';
import type { Caller } from '../../contract/caller.ts';

/**
 * Watches the keys behind what outlives a request: sockets and streams. A key that is revoked in this process ends them at
 * once; one that expires or is revoked by another process does so at the next look.
 */
export class KeyWatch {
  readonly #isValid: (caller: Caller) => Promise<boolean>;
  readonly #watched = new Map<string, { caller: Caller; ends: Set<() => void> }>();
  #timer: ReturnType<typeof setInterval> | null = null;

  constructor(isValid: (caller: Caller) => Promise<boolean>) {
    this.#isValid = isValid;
  }

  /** Calls `end` once when the key no longer works. Gives a function that stops watching. Without a key nothing ever ends. */
  watch(caller: Caller, end: () => void): () => void {
    if (caller.keyId === 'local' || caller.keyId === 'anonymous') return () => {};
    const watched = this.#watched.get(caller.keyId) ?? { caller, ends: new Set() };
    watched.ends.add(end);
    this.#watched.set(caller.keyId, watched);
    if (this.#timer === null) {
      this.#timer = setInterval(() => void this.#look(), KEY_CHECK_MS);
      (this.#timer as { unref?: () => void }).unref?.();
    }
    return () => {
      watched.ends.delete(end);
      if (watched.ends.size === 0 && this.#watched.get(caller.keyId) === watched) this.#forget(caller.keyId);
    };
  }

  /** The key stopped working. */
  end(keyId: string): void {
    const watched = this.#watched.get(keyId);
    this.#forget(keyId);
    for (const end of watched?.ends ?? []) end();
  }

  async #look(): Promise<void> {
    for (const [keyId, { caller }] of this.#watched) {
      // A store that does not answer is no reason to cut anyone off.
      if (!(await this.#isValid(caller).catch(() => true))) this.end(keyId);
    }
  }

  #forget(keyId: string): void {
    this.#watched.delete(keyId);
    if (this.#watched.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }
}
