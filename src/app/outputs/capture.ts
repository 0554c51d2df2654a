import type { Excerpt, ExcerptBuilder } from '../../text/excerpt/excerpt.ts';
import { endsWithLastLine, LAST_LINE_CHARS } from '../../text/excerpt/last-line.ts';
import { ownTextWork } from '../store/own-text-work.ts';
import { Spool } from './spool.ts';

interface CaptureOptions {
  readonly home: string;
  readonly command: string;
  /** Maximum number of tokens to print. */
  readonly budget: number;
  /** Maximum number of bytes to store. */
  readonly maxBytes: number;
  /** True at a terminal, where output is printed as it arrives. */
  readonly live: boolean;
  print(data: Uint8Array): Promise<void> | void;
  /** Prints the excerpt, its last line, or both. */
  printLast(text: string): void;
  /** Returns whether the output was written by `relay pull`. */
  isPulled(): boolean;
  /** Stores an output that exceeds the budget and returns the last line of its excerpt. */
  save(spool: Spool, excerpt: Excerpt, cut?: number): Promise<string>;
  warn(what: string): void;
}

/** Tokens of the budget that are reserved for the last line. */
const LAST_LINE_TOKENS = 100;
/** Interval in ms at which output is written to the spool, a file that remains if this process is killed. */
const SPOOL_MS = 1_000;
/**
 * Number of bytes that may wait for the spool. If more bytes wait, each chunk is written immediately, so that
 * memory stays bounded.
 */
const HELD_BYTES = 1024 * 1024;
const LINE_FEED = 0x0a;

/**
 * Takes the output of a command and prints it whole if it fits the budget. Otherwise stores it and prints an
 * excerpt. Loads the store and the tokenizer only if the output has more bytes than the budget has tokens: a
 * token has at least one byte.
 */
export class Capture {
  readonly #o: CaptureOptions;
  #builder: ExcerptBuilder | null = null;
  #spool: Spool | null = null;
  #timer: ReturnType<typeof setInterval> | undefined;
  /** Chunks of output that were not written to the spool yet. */
  #held: Uint8Array[] = [];
  #total = 0;
  /** First line that is not stored because the output exceeds `maxBytes`, counted from 1. */
  #cut: number | undefined;
  /**
   * Set once the output or its excerpt is printed, or the spool has failed. From then on, output is printed
   * as it arrives.
   */
  #ended: Promise<void> | null = null;

  constructor(options: CaptureOptions) {
    this.#o = options;
  }

  async write(chunk: Uint8Array): Promise<void> {
    if (this.#ended) await this.#ended;
    if (this.#ended || this.#o.live) await this.#o.print(chunk);
    if (this.#ended) return;
    this.#total += chunk.byteLength;
    this.#held.push(chunk);
    if (this.#total <= this.#o.budget) return;
    if (this.#builder) this.#builder.write(chunk);
    else await this.#start();
    if (this.#total > HELD_BYTES) this.flush();
  }

  /** Writes all output so far to the spool. If that fails, prints everything and stores nothing. */
  flush(): void {
    if (this.#ended || !this.#builder) return;
    try {
      this.#spill();
    } catch (error) {
      this.#ended = this.#giveUp(error);
    }
  }

  /**
   * Prints the output or its excerpt; later output is printed as it arrives. `hurry` prints the excerpt
   * before storing the output, because this process may soon be killed.
   */
  end(o: { hurry?: boolean } = {}): Promise<void> {
    this.#ended ??= this.#end(o.hurry === true);
    return this.#ended;
  }

  async #start(): Promise<void> {
    const { ExcerptBuilder } = await import('../../text/excerpt/excerpt.ts');
    // Stdout and stderr share this object, so the other stream may have created the builder during the import.
    if (this.#builder) return;
    this.#builder = new ExcerptBuilder({ budget: this.#o.budget - LAST_LINE_TOKENS, counter: ownTextWork });
    for (const chunk of this.#held) this.#builder.write(chunk);
    this.#timer = setInterval(() => this.flush(), SPOOL_MS).unref();
  }

  #spill(): Spool {
    this.#spool ??= Spool.create(this.#o.home, this.#o.command);
    const spool = this.#spool;
    for (; this.#held.length > 0; this.#held.shift()) this.#keep(spool, this.#held[0]!);
    return spool;
  }

  /** Appends a chunk to the spool. Output beyond `maxBytes` is dropped after the last line that fits. */
  #keep(spool: Spool, chunk: Uint8Array): void {
    if (this.#cut !== undefined) return;
    const room = this.#o.maxBytes - spool.size;
    const fits = chunk.byteLength <= room;
    const line = fits ? -1 : chunk.subarray(0, room).lastIndexOf(LINE_FEED);
    spool.append(line === -1 ? chunk.subarray(0, room) : chunk.subarray(0, line + 1));
    if (fits) return;
    this.#cut = 1;
    for (const chunk of spool.chunks())
      for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, at + 1)) this.#cut++;
  }

  async #end(hurry: boolean): Promise<void> {
    if (!this.#builder) return this.#printAll();
    const { budget, live, printLast, save, isPulled } = this.#o;
    try {
      const excerpt = await this.#builder.finish();
      if (excerpt.tokens <= budget || isPulled()) return await this.#printAll();
      const spool = this.#spill();
      if (isExcerpt(spool)) return await this.#printAll();
      if (hurry) printLast(`${excerpt.text}\n`);
      const lastLine = await save(spool, excerpt, this.#cut);
      printLast(hurry || live ? `${lastLine}\n` : `${excerpt.text}\n${lastLine}\n`);
      this.#close();
    } catch (error) {
      await this.#giveUp(error);
    }
  }

  async #giveUp(error: unknown): Promise<void> {
    this.#o.warn(`The output is not stored, so all of it is printed: ${(error as Error).message}`);
    await this.#printAll();
  }

  async #printAll(): Promise<void> {
    const output = [this.#spool?.chunks() ?? [], this.#held];
    if (!this.#o.live) for (const chunks of output) for (const chunk of chunks) await this.#o.print(chunk);
    this.#close();
  }

  #close(): void {
    clearInterval(this.#timer);
    this.#spool?.delete();
  }
}

/** Returns whether an output ends with the last line of an excerpt. */
function isExcerpt(spool: Spool): boolean {
  const end = spool.read(Math.max(0, spool.size - LAST_LINE_CHARS), spool.size);
  return endsWithLastLine(new TextDecoder().decode(end));
}
