import { concatBytes } from '../../base/byte-streams.ts';
import type { Excerpt, ExcerptBuilder } from '../../text/excerpt/excerpt.ts';
import { ownTextWork } from '../store/own-text-work.ts';
import type { KeptBytes } from './output-store.ts';
import { Spool } from './spool.ts';

interface CaptureOptions {
  readonly home: string;
  readonly command: string;
  /** Maximum tokens that are printed. */
  readonly budget: number;
  /** Tokens of the budget for the last line. */
  readonly lastLineTokens: number;
  /** Maximum bytes that are kept. */
  readonly maxBytes: number;
  /** True if everything is printed as it comes, at a terminal. */
  readonly live: boolean;
  print(data: Uint8Array): Promise<void> | void;
  /** Prints the excerpt and its last line. */
  printLast(text: string): void;
  /** Returns whether the output comes from a pull or from another excerpt. */
  isPulled(): boolean;
  /** Stores an output that exceeds the budget and returns the last line of its excerpt. */
  save(output: KeptOutput): Promise<string>;
  warn(what: string): void;
}

export interface KeptOutput {
  readonly command: string;
  readonly kept: KeptBytes;
  readonly excerpt: Excerpt;
  /** Id of the spool, if the output is in one. */
  readonly id?: string;
  /** Line from which on nothing was kept. */
  readonly cut?: number;
}

/** Interval at which the output is written to the spool, in ms. */
const SPOOL_MS = 1_000;
/** Bytes that are held in memory before they are written to the spool. */
const HELD_BYTES = 1024 * 1024;
const LINE_FEED = 0x0a;

/**
 * Takes the output of a command and prints it whole if it fits the budget. Otherwise stores it and prints an excerpt.
 * The store and the tokenizer are loaded only if the output has more bytes than the budget has tokens, because a
 * token has at least one byte.
 */
export class Capture {
  readonly #o: CaptureOptions;
  #builder: ExcerptBuilder | null = null;
  #spool: Spool | null = null;
  #timer: ReturnType<typeof setInterval> | undefined;
  /** Chunks that are not in the spool yet. */
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  #unread: Uint8Array[] = [];
  #total = 0;
  #cut: number | undefined;
  /** Set when the excerpt is printed or the spool has failed. Later output is printed as it comes. */
  #ended: Promise<void> | null = null;

  constructor(options: CaptureOptions) {
    this.#o = options;
  }

  async write(chunk: Uint8Array): Promise<void> {
    if (this.#ended) {
      await this.#ended;
      return this.#o.print(chunk);
    }
    this.#total += chunk.byteLength;
    this.#heldBytes += chunk.byteLength;
    this.#held.push(chunk);
    this.#unread.push(chunk);
    if (this.#o.live) await this.#o.print(chunk);
    if (this.#total <= this.#o.budget) return;
    if (!this.#builder) await this.#start();
    for (const unread of this.#unread.splice(0)) this.#builder!.write(unread);
    if (this.#heldBytes > HELD_BYTES) this.flush();
  }

  /** Writes the output so far to the spool. If that fails, prints everything and stores nothing. */
  flush(): void {
    if (this.#ended || !this.#builder) return;
    try {
      this.#spill();
    } catch (error) {
      clearInterval(this.#timer);
      this.#ended = this.#giveUp(error).finally(() => this.#spool?.delete());
    }
  }

  /**
   * Prints the output or its excerpt. Later output is printed as it comes. With `hurry`, the excerpt is printed before
   * the output is stored, because this process may be killed soon.
   */
  end(o: { hurry?: boolean } = {}): Promise<void> {
    this.#ended ??= this.#end(o.hurry === true);
    return this.#ended;
  }

  async #start(): Promise<void> {
    const { ExcerptBuilder } = await import('../../text/excerpt/excerpt.ts');
    const budget = this.#o.budget - this.#o.lastLineTokens;
    this.#builder ??= new ExcerptBuilder({ budget, counter: ownTextWork });
    this.#timer ??= setInterval(() => this.flush(), SPOOL_MS).unref();
  }

  #spill(): void {
    this.#spool ??= Spool.create(this.#o.home, this.#o.command);
    for (; this.#held.length > 0; this.#held.shift()) this.#keep(this.#spool, this.#held[0]!);
    this.#heldBytes = 0;
    this.#spool.sync();
  }

  /** Appends a chunk to the spool. At the limit it cuts after a line and drops the rest. */
  #keep(spool: Spool, chunk: Uint8Array): void {
    if (this.#cut !== undefined) return;
    const room = this.#o.maxBytes - spool.size;
    const fits = chunk.byteLength <= room;
    const line = fits ? -1 : chunk.subarray(0, room).lastIndexOf(LINE_FEED);
    spool.append(fits ? chunk : chunk.subarray(0, line === -1 ? room : line + 1));
    if (fits) return;
    this.#cut = 1;
    for (const kept of spool.chunks())
      for (let at = kept.indexOf(LINE_FEED); at !== -1; at = kept.indexOf(LINE_FEED, at + 1)) this.#cut++;
  }

  async #end(hurry: boolean): Promise<void> {
    clearInterval(this.#timer);
    if (!this.#builder) return this.#printAll();
    try {
      const excerpt = await this.#builder.finish();
      if (this.#spool || hurry) this.#spill();
      const kept = this.#spool ?? inMemory(concatBytes(this.#held));
      if (excerpt.tokens <= this.#o.budget || this.#o.isPulled() || endsWithLastLine(kept))
        return await this.#printAll();
      const { command, live, printLast } = this.#o;
      if (hurry && !live) printLast(`${excerpt.text}\n`);
      const lastLine = await this.#o.save({ kept, excerpt, command, id: this.#spool?.id, cut: this.#cut });
      printLast(hurry || live ? `${lastLine}\n` : `${excerpt.text}\n${lastLine}\n`);
    } catch (error) {
      await this.#giveUp(error);
    } finally {
      this.#spool?.delete();
    }
  }

  async #giveUp(error: unknown): Promise<void> {
    this.#o.warn(`The output is not stored, so all of it is printed: ${(error as Error).message}`);
    await this.#printAll();
  }

  async #printAll(): Promise<void> {
    if (this.#o.live) return;
    for (const chunk of this.#spool?.chunks() ?? []) await this.#o.print(chunk);
    for (const chunk of this.#held) await this.#o.print(chunk);
  }
}

function inMemory(bytes: Uint8Array<ArrayBuffer>): KeptBytes {
  const read = (from: number, to: number) => bytes.subarray(from, to);
  return { size: bytes.byteLength, read, chunks: (from = 0, to = bytes.byteLength) => [read(from, to)] };
}

/** Bytes at the end of an output in which the last line of an excerpt is looked for. */
const LOOK_BYTES = 1024;
const LAST_LINE = /(?:^|\n)\[relay:\d+ · [^\n]* tokens · [^\n]* pull \d+ [^\n]* \| --outline\]\n?$/;

/** Returns whether an output ends with the last line of an excerpt, as in `ssh host relay tee … | relay tee`. */
function endsWithLastLine(kept: KeptBytes): boolean {
  const end = kept.read(Math.max(0, kept.size - LOOK_BYTES), kept.size);
  return LAST_LINE.test(new TextDecoder().decode(end));
}
