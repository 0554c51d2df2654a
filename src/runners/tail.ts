/** The end of a stream of bytes, as much as is worth keeping. */
export class Tail {
  readonly #limit: number;
  readonly #chunks: Uint8Array[] = [];
  #size = 0;
  #cut = false;

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#size += chunk.byteLength;
    while (this.#size - this.#chunks[0]!.byteLength >= this.#limit) {
      this.#size -= this.#chunks.shift()!.byteLength;
      this.#cut = true;
    }
  }

  /** Says so where the beginning is missing. */
  text(): string {
    const text = Buffer.concat(this.#chunks).toString('utf8');
    return this.#cut ? `[… only the end of a long output]\n${text}` : text;
  }
}
