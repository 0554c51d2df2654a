import { KEY_CHECK_MS } from '../../base/limits.ts';
import type { Caller } from '../../contract/caller.ts';

/**
 * Watches the API keys of sockets and streams, which stay open longer than a request. If this process revokes an API
 * key, the sockets and streams of the key are closed immediately. If the key expires or another process revokes the
 * key, they are closed at the next check.
 */
export class KeyWatch {
  readonly #isValid: (caller: Caller) => Promise<boolean>;
  readonly #watched = new Map<string, { caller: Caller; ends: Set<() => void> }>();
  #timer: ReturnType<typeof setInterval> | null = null;

  constructor(isValid: (caller: Caller) => Promise<boolean>) {
    this.#isValid = isValid;
  }

  /**
   * Calls `end` once when the caller's API key no longer works. Returns a function that stops watching.
   * Callers without an API key are not watched.
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

  /** Closes all sockets and streams that use this API key. */
  end(keyId: string): void {
    const watched = this.#watched.get(keyId);
    this.#forget(keyId);
    for (const end of watched?.ends ?? []) end();
  }

  async #checkKeys(): Promise<void> {
    for (const [keyId, { caller }] of this.#watched) {
      // If the store does not answer, treat the key as valid, so that the connections stay open.
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
