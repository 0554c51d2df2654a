import { KEY_CHECK_MS } from '../../base/limits.ts';
import type { Caller } from '../../contract/caller.ts';

/**
 * Keys behind what outlives a request: sockets and streams. A key that is revoked here ends them at once; one that is revoked
 * by another process or expires, at the next look.
 */
export class KeyHolds {
  readonly #isValid: (caller: Caller) => Promise<boolean>;
  readonly #held = new Map<string, { caller: Caller; ends: Set<() => void> }>();
  #timer: ReturnType<typeof setInterval> | null = null;

  constructor(isValid: (caller: Caller) => Promise<boolean>) {
    this.#isValid = isValid;
  }

  /** Calls `end` once when the key no longer works. Gives the way to let go. Where there is no key, nothing ever ends. */
  hold(caller: Caller, end: () => void): () => void {
    if (caller.keyId === 'local' || caller.keyId === 'anonymous') return () => {};
    const held = this.#held.get(caller.keyId) ?? { caller, ends: new Set() };
    held.ends.add(end);
    this.#held.set(caller.keyId, held);
    if (this.#timer === null) {
      this.#timer = setInterval(() => void this.#look(), KEY_CHECK_MS);
      (this.#timer as { unref?: () => void }).unref?.();
    }
    return () => {
      held.ends.delete(end);
      if (held.ends.size === 0 && this.#held.get(caller.keyId) === held) this.#forget(caller.keyId);
    };
  }

  /** The key stopped working. */
  end(keyId: string): void {
    const held = this.#held.get(keyId);
    this.#forget(keyId);
    for (const end of held?.ends ?? []) end();
  }

  async #look(): Promise<void> {
    for (const [keyId, { caller }] of this.#held) {
      // A store that does not answer is no reason to cut anyone off.
      if (!(await this.#isValid(caller).catch(() => true))) this.end(keyId);
    }
  }

  #forget(keyId: string): void {
    this.#held.delete(keyId);
    if (this.#held.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }
}
