import { KEY_CHECK_MS } from '../../base/limits.ts';
import type { Caller } from '../../contract/caller.ts';

/**
 * Watches the keys of sockets and streams, which outlive a request. A key revoked in this process ends them at once. A
 * key that expires or is revoked by another process ends them at the next check.
 */
export class KeyWatch {
  readonly #isValid: (caller: Caller) => Promise<boolean>;
  readonly #watched = new Map<string, { caller: Caller; ends: Set<() => void> }>();
  #timer: ReturnType<typeof setInterval> | null = null;

  constructor(isValid: (caller: Caller) => Promise<boolean>) {
    this.#isValid = isValid;
  }

  /**
   * Calls `end` once when the key no longer works. Returns a function that stops watching. Callers without a key are
   * not watched.
   */
  watch(caller: Caller, end: () => void): () => void {
    if (caller.keyId === 'local' || caller.keyId === 'anonymous') return () => {};
    const watched = this.#watched.get(caller.keyId) ?? { caller, ends: new Set() };
    watched.ends.add(end);
    this.#watched.set(caller.keyId, watched);
    if (this.#timer === null) {
      this.#timer = setInterval(() => void this.#checkKeys(), KEY_CHECK_MS);
      (this.#timer as { unref?: () => void }).unref?.();
    }
    return () => {
      watched.ends.delete(end);
      if (watched.ends.size === 0 && this.#watched.get(caller.keyId) === watched) this.#forget(caller.keyId);
    };
  }

  /** Ends everything that uses this key. */
  end(keyId: string): void {
    const watched = this.#watched.get(keyId);
    this.#forget(keyId);
    for (const end of watched?.ends ?? []) end();
  }

  async #checkKeys(): Promise<void> {
    for (const [keyId, { caller }] of this.#watched) {
      // A store that does not answer is no reason to disconnect anyone.
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
