import { STEP_COMPLAINT_CHARS, STEP_OUTPUT_BYTES } from '../../base/limits.ts';

/** What a program says, kept as far as it may go. */
export class KeptOutput {
  readonly #chunks: Uint8Array[] = [];
  #bytes = 0;
  #complaint = '';
  readonly #decoder = new TextDecoder();

  add(chunk: Uint8Array): void {
    this.#bytes += chunk.byteLength;
    if (this.#bytes > STEP_OUTPUT_BYTES)
      throw new Error(`it says more than ${STEP_OUTPUT_BYTES / 1024 / 1024} MiB`);
    this.#chunks.push(chunk);
  }

  complain(chunk: Uint8Array): void {
    this.#complaint = (this.#complaint + this.#decoder.decode(chunk, { stream: true })).slice(
      -STEP_COMPLAINT_CHARS,
    );
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString('utf8');
  }

  /** Whether it is text at all; otherwise it is kept as bytes. */
  get content(): string | Uint8Array {
    const bytes = Buffer.concat(this.#chunks);
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      return bytes;
    }
  }

  /** The end of what it complained about, or of what it said. */
  get lastWords(): string {
    const words = this.#complaint.trim() || this.text.slice(-STEP_COMPLAINT_CHARS).trim();
    return words.split('\n').slice(-3).join(' ').trim().slice(-300);
  }
}
