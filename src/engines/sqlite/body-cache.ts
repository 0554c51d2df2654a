/**
 * The inlined bodies that were read last, so that one pulled by many is copied out of the database once. It is asked
 * only after the row has been looked at, with the row's hash: what another process deleted or replaced never comes
 * from here. Whoever gets a body shares it and must not write to it.
 */
export class BodyCache {
  readonly #bodies = new Map<string, { sha256: string; body: Uint8Array }>();
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get(key: string, sha256: string): Uint8Array | undefined {
    const found = this.#bodies.get(key);
    if (!found) return undefined;
    this.#bodies.delete(key);
    if (found.sha256 !== sha256) {
      this.#bytes -= found.body.length;
      return undefined;
    }
    this.#bodies.set(key, found);
    return found.body;
  }

  set(key: string, sha256: string, body: Uint8Array): void {
    if (this.#maxBytes === 0) return;
    const before = this.#bodies.get(key);
    if (before) this.#bytes -= before.body.length;
    this.#bodies.delete(key);
    this.#bodies.set(key, { sha256, body });
    this.#bytes += body.length;
    for (const [oldest, { body: dropped }] of this.#bodies) {
      if (this.#bytes <= this.#maxBytes) return;
      this.#bodies.delete(oldest);
      this.#bytes -= dropped.length;
    }
  }
}
