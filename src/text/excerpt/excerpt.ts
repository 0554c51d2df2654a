import { EXCERPT_TOKENS } from '../../base/limits.ts';
import type { TokenCounter } from '../../base/tokens.ts';
import { binaryKind } from '../preview/binary-kind.ts';
import { type Line, LineReader } from './line-reader.ts';
import type { ExcerptKind } from './recognisers.ts';
import { type Item, Scanner } from './scanner.ts';

export type { ExcerptKind } from './recognisers.ts';

export interface ExcerptOptions {
  /** Maximum number of tokens of the excerpt, 1 200 by default. */
  readonly budget?: number;
  /** Question about the text. Lines that contain its words rank higher. */
  readonly question?: string;
  /** Counts tokens. Without it, token counts are estimates. */
  readonly counter?: TokenCounter;
}

export interface Excerpt {
  /**
   * The whole text if it fits. Otherwise original lines in their order: `1204 text` is line 1204, `1204:300 text` is
   * line 1204 from column 300 on, and `…13-40` stands for omitted lines. For binary data, its kind and size.
   */
  readonly text: string;
  readonly kind: ExcerptKind;
  readonly lines: number;
  readonly bytes: number;
  /** Number of tokens of the whole text. For a long text, it is an estimate from a sample. */
  readonly tokens: number;
  /** Number of tokens of the excerpt. */
  readonly shownTokens: number;
  /**
   * True if the whole text fitted. `text` is then the original, except that bytes that are not UTF-8 became U+FFFD.
   */
  readonly whole: boolean;
  /** Ranges of lines that the excerpt does not show, in order. Lines that are partly shown are not included. */
  readonly omitted: readonly { readonly from: number; readonly to: number }[];
}

/** Returns the most important original lines of a text that fit a token budget, with their line numbers. */
export async function excerpt(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  options: ExcerptOptions = {},
): Promise<Excerpt> {
  const builder = new ExcerptBuilder(options);
  for await (const chunk of chunks) builder.write(chunk);
  return builder.finish();
}

/** Makes an excerpt while a text arrives. */
export class ExcerptBuilder {
  readonly #options: ExcerptOptions;
  readonly #reader: LineReader;
  readonly #scanner: Scanner;
  readonly #sample = new TextSample();
  #start = new Uint8Array(0);

  constructor(options: ExcerptOptions = {}) {
    this.#options = options;
    this.#scanner = new Scanner(options);
    this.#reader = new LineReader(
      (text) => this.#sample.add(text),
      (line) => this.#scanner.add(line),
    );
  }

  /** Reads the next bytes. Keeps no reference to the chunk. */
  write(chunk: Uint8Array): void {
    if (this.#start.length < START_BYTES) {
      const more = chunk.subarray(0, START_BYTES - this.#start.length);
      const start = new Uint8Array(this.#start.length + more.length);
      start.set(this.#start);
      start.set(more, this.#start.length);
      this.#start = start;
    }
    this.#reader.write(chunk);
  }

  /** Returns the excerpt of everything that was written. Call it once. */
  async finish(): Promise<Excerpt> {
    const { budget = EXCERPT_TOKENS, counter = estimatingCounter } = this.#options;
    this.#reader.end();
    const { lines, bytes } = this.#reader;
    const sample = this.#sample.text();
    const counted = await counter.count(sample);
    const tokens = Math.round((counted.tokens * this.#sample.chars) / Math.max(1, sample.length));
    const about = { lines, bytes, tokens };
    const items = this.#scanner.items();
    const kind = this.#sample.isBinary ? 'binary' : this.#scanner.kind;
    if (kind === 'binary' && bytes > 0) {
      const text = `${binaryKind(this.#start)}, ${bytes} bytes`;
      const { tokens: shownTokens } = await counter.count(text);
      const omitted = lines > 0 ? [{ from: 1, to: lines }] : [];
      if (shownTokens > budget) return { text: '', kind, ...about, shownTokens: 0, whole: false, omitted };
      return { text, kind, ...about, shownTokens, whole: false, omitted };
    }
    if (sample.length === this.#sample.chars && tokens <= budget) {
      return { text: sample, kind, ...about, shownTokens: tokens, whole: true, omitted: [] };
    }
    const chosen = await fit(items, this.#scanner, lines, budget, counter);
    return { kind, ...about, whole: false, ...chosen };
  }
}

/** Number of bytes at the start that show the kind of binary data. */
const START_BYTES = 512;

/** Maximum length of a text whose tokens are counted exactly. For a longer text, a sample is counted. */
const SAMPLE_CHARS = 1024 * 1024;

/** Stores the text whose tokens are counted: all of it, or evenly spread slices of a long text. */
class TextSample {
  #slices: string[] = [];
  #storedChars = 0;
  #stride = 1;
  #index = 0;
  #oddChars = 0;
  chars = 0;

  add(text: string): void {
    this.chars += text.length;
    if (this.#index++ % this.#stride !== 0) return;
    if (this.#slices.length < 16) this.#oddChars += text.match(/[\x00-\x06\x0e-\x1a\ufffd]/g)?.length ?? 0;
    this.#slices.push(text);
    this.#storedChars += text.length;
    if (this.#storedChars <= SAMPLE_CHARS) return;
    this.#slices = this.#slices.filter((_, i) => i % 2 === 0);
    this.#storedChars = this.#slices.reduce((sum, { length }) => sum + length, 0);
    this.#stride *= 2;
  }

  /** True if the text has many control characters, or bytes that are not UTF-8. */
  get isBinary(): boolean {
    return this.#oddChars > 0.05 * Math.min(this.chars, this.#storedChars);
  }

  text(): string {
    return this.#slices.join('');
  }
}

/** Number of tokens of a mark such as `…13-40` between two lines. */
const MARK_TOKENS = 8;

/** Chooses items by priority while they fit. Drops the least important ones if the text is still too long. */
async function fit(items: Item[], scanner: Scanner, lines: number, budget: number, counter: TokenCounter) {
  items.sort((a, b) => b.priority - a.priority || a.lines[0]!.number - b.lines[0]!.number);
  const chosen: Line[][] = [];
  const shownPlaces = new Set<string>();
  const numbers = new Set<number>();
  const shapes = new Map<number, number>();
  const isNew = (line: Line) => (shapes.get(scanner.shapeOf(line)) ?? 0) < 2;
  for (let left = budget, pass = 0; ; pass++) {
    const before = chosen.length;
    let misses = 0;
    for (const { lines, novel } of items) {
      const fresh = lines.filter((line) => !shownPlaces.has(placeOf(line)));
      // The first pass prefers lines that differ from the shown ones. Later passes fill the rest of the budget.
      if (fresh.length === 0 || (novel && pass === 0 && !fresh.some(isNew))) continue;
      let cost = 0;
      for (const [i, line] of fresh.entries()) {
        const isNext = numbers.has(line.number - 1) || fresh[i - 1]?.number === line.number - 1;
        if (!isNext && !numbers.has(line.number + 1)) cost += MARK_TOKENS;
        if (cost <= left) cost += (await counter.count(`${rendered(line)}\n`)).tokens;
      }
      if (cost > left) {
        if (++misses > MISSES) break;
        continue;
      }
      left -= cost;
      for (const line of fresh) {
        shownPlaces.add(placeOf(line));
        numbers.add(line.number);
        const shape = scanner.shapeOf(line);
        shapes.set(shape, (shapes.get(shape) ?? 0) + 1);
      }
      chosen.push(fresh);
    }
    const isLast = chosen.length === before || pass === PASSES;
    for (;;) {
      const { text, omitted } = layOut(chosen.flat(), scanner, lines);
      const { tokens } = await counter.count(text);
      left = budget - tokens;
      if (left >= 0 && isLast) return { text, omitted, shownTokens: tokens };
      if (left >= 0) break;
      if (chosen.length === 0) return { text: '', omitted, shownTokens: 0 };
      chosen.pop();
    }
  }
}

/** Maximum number of passes after the first one. */
const PASSES = 3;

/** Maximum number of items that one pass skips because they are too large. Then the pass ends. */
const MISSES = 60;

function placeOf(line: Line): string {
  return `${line.number}:${line.column}`;
}

/** Mark at the end of a piece of a line if the next piece is omitted. */
const CUT = ' […]';

function nextPlace({ number, column, text }: Line): string {
  return `${number}:${column + text.length}`;
}

function rendered({ number, column, text }: Line): string {
  return column > 0 ? `${number}:${column} ${text}` : `${number} ${text}`;
}

/** If at least this many omitted lines are similar to the line above a mark, the mark contains their number. */
const MIN_SIMILAR = 5;

/** Returns the lines in order, with a mark for each gap. */
function layOut(chosen: Line[], scanner: Scanner, total: number) {
  const lines = chosen.toSorted((a, b) => a.number - b.number || a.column - b.column);
  /**
   * Number of shown lines by shape. The first mark below a line of a shape deletes the entry of the shape, so that no
   * later mark counts the same omitted lines again.
   */
  const ofShape = new Map<number, number>();
  for (const line of lines) ofShape.set(scanner.shapeOf(line), (ofShape.get(scanner.shapeOf(line)) ?? 0) + 1);
  const out: string[] = [];
  const omitted: { from: number; to: number }[] = [];
  let before: Line | null = null;
  const gap = (next: number) => {
    const from = (before?.number ?? 0) + 1;
    const to = next - 1;
    if (from > to) return;
    omitted.push({ from, to });
    const shape = before ? scanner.shapeOf(before) : 0;
    const similar = before && scanner.similar(before);
    const more = similar && ofShape.has(shape) ? similar.count - ofShape.get(shape)! : 0;
    ofShape.delete(shape);
    const note =
      more < MIN_SIMILAR
        ? ''
        : `: ${more} similar lines${similar!.last > to ? ` up to ${similar!.last}` : ''}`;
    out.push(`…${from === to ? from : `${from}-${to}`}${note}`);
  };
  for (const line of lines) {
    if (before?.more && placeOf(line) !== nextPlace(before)) out[out.length - 1] += CUT;
    gap(line.number);
    out.push(rendered(line));
    before = line;
  }
  if (before?.more) out[out.length - 1] += CUT;
  gap(total + 1);
  return { text: out.join('\n'), omitted };
}

/** Estimates token counts without a tokenizer, rather too high than too low. */
const estimatingCounter: TokenCounter = {
  async count(text) {
    let tokens = 0;
    for (const [word] of text.matchAll(/[A-Za-z]+|\d+|[^\x00-\x7f]|[^\sA-Za-z\d]+|\s+/g)) {
      if (/^[A-Za-z]/.test(word)) tokens += Math.ceil(word.length / 5);
      else if (/^\d/.test(word)) tokens += Math.ceil(word.length / 3);
      else if (word.charCodeAt(0) > 0x7f) tokens += word.charCodeAt(0) > 0x2fff ? 1.2 : 1;
      else if (/^\s/.test(word)) tokens += word === ' ' ? 0 : 1;
      else tokens += Math.ceil(word.length / 2);
    }
    return { tokens: Math.ceil(tokens), tokenizer: 'estimate', estimated: true };
  },
};
