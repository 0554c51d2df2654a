import type { Line } from './line-reader.ts';
import { type ExcerptKind, type Recognised, type Recogniser, recognise } from './recognisers.ts';
import { shapeOf } from './shape.ts';

/** Lines that belong together, with their importance. Higher priorities are shown first. */
export interface Item {
  readonly lines: Line[];
  priority: number;
}

interface Group {
  readonly rank: Recognised['rank'];
  readonly items: Block[];
  count: number;
  last: number;
}

interface Block {
  readonly lines: Line[];
  readonly rank: Recognised['rank'];
  /** Index of the line that was recognised. Lines before it are context. */
  readonly headline: number;
}

/** Stored examples per shape, by importance. Of summaries the last ones are kept. */
const EXAMPLES = { failure: 24, error: 12, summary: 24, warning: 3, quiet: 1, none: 2 } as const;
/** Maximum lines of the details of a failure. */
const BLOCK_LINES = 48;
/** Lines after an error without a block of details. */
const CONTEXT_AFTER = 2;
const GROUPS = 3000;
const HEAD_LINES = 24;
const TAIL_LINES = 40;
/** Slots of the table that counts shapes. */
const COUNTED_SHAPES = 2 ** 17;

/** Lines that continue an error without being indented. */
const DETAIL =
  /^(?:\s+at |Caused by: |\s*\.\.\. \d+ more|During handling|The above exception|E\s{2,}|>\s|\s*\^+\s*$|\s*\|)/;

/** Collects the important lines of a program's output while it is read. Its memory is bounded. */
export class Scanner {
  readonly #counts = new Uint32Array(COUNTED_SHAPES);
  #groups = new Map<number, Group>();
  readonly #head: Line[] = [];
  #tail: Line[] = [];
  /** The last unindented line, such as the file name above messages of eslint. */
  #heading: Line | null = null;
  #open: { readonly block: Block; readonly by?: Recogniser; readonly indent: number; after: number } | null =
    null;
  readonly votes = new Map<ExcerptKind, number>();
  #lines = 0;

  add(line: Line): void {
    const { text } = line;
    this.#lines++;
    const blank = text.trim() === '';
    if (this.#head.length < HEAD_LINES) this.#head.push(own(line));
    const found = blank ? null : recognise(text);
    if (found?.kind) this.votes.set(found.kind, (this.votes.get(found.kind) ?? 0) + 1);
    const inside = this.#open !== null && this.#extend(line, blank, found);
    if (!blank && !inside) this.#classify(line, found!);
    this.#tail.push(line);
    if (this.#tail.length > 2 * TAIL_LINES) this.#tail = this.#tail.slice(-TAIL_LINES);
    if (!blank && indentOf(text) === 0) this.#heading = line;
  }

  /** Adds the line to the open block. Returns false if the block ended before it. */
  #extend(line: Line, blank: boolean, found: Recognised | null): boolean {
    const { block, by, indent } = this.#open!;
    let belongs = block.lines.length - block.headline < BLOCK_LINES;
    if (by?.until) belongs &&= !by.until.test(line.text);
    else if (!blank) {
      const nested = indentOf(line.text) > indent || DETAIL.test(line.text);
      const first =
        by?.test.test(line.text) === true || found?.rank === 'failure' || found?.rank === 'summary';
      belongs &&= (nested && !(first && indentOf(line.text) <= indent)) || this.#open!.after-- > 0;
      if (first && !nested) belongs = false;
    }
    if (belongs) block.lines.push(own(line));
    else this.#open = null;
    return belongs;
  }

  #classify(line: Line, { rank, by }: Recognised): void {
    const shape = shapeOf(line.text);
    const slot = shape % COUNTED_SHAPES;
    const count = ++this.#counts[slot]!;
    let group = this.#groups.get(shape);
    if (!group) {
      // A shape whose example was removed is frequent or one of very many.
      if (count > 1 && (rank === null || rank === 'quiet')) return;
      if (this.#groups.size >= GROUPS) this.#makeRoom();
      group = { rank, items: [], count: 0, last: 0 };
      this.#groups.set(shape, group);
    }
    group.count++;
    group.last = line.number;
    const most = EXAMPLES[rank ?? 'none'];
    if (group.items.length >= most) {
      if (rank !== 'summary') return;
      group.items.shift();
    }
    const before = this.#before(line, by, rank);
    const block: Block = { lines: [...before, own(line)], rank, headline: before.length };
    group.items.push(block);
    if (rank !== 'failure' && rank !== 'error') return;
    const after = rank === 'error' && !by ? CONTEXT_AFTER : by?.test.source.includes('Traceback') ? 1 : 0;
    this.#open = { block, by, indent: indentOf(line.text), after };
  }

  #before(line: Line, by: Recogniser | undefined, rank: Recognised['rank']): Line[] {
    if (by?.before === -1) return this.#heading ? [own(this.#heading)] : [];
    const count = by ? (by.before ?? 0) : rank === 'error' ? 1 : 0;
    const lines =
      count === 0 ? [] : this.#tail.slice(-count).filter(({ number }) => number >= line.number - count);
    return lines.filter(({ text }) => text.trim() !== '').map(own);
  }

  /** Removes examples of frequent shapes; if all are rare, every second one. */
  #makeRoom(): void {
    const isPlain = ({ rank }: Group) => rank === null || rank === 'quiet';
    for (const [shape, group] of this.#groups)
      if (isPlain(group) && group.count > 2) this.#groups.delete(shape);
    if (this.#groups.size < GROUPS * 0.75) return;
    let i = 0;
    for (const shape of this.#groups.keys()) if (i++ % 2 === 1) this.#groups.delete(shape);
  }

  /** Returns the collected lines with their priorities. */
  items(): { items: Item[]; folds: Map<number, number> } {
    const items: Item[] = [];
    const folds = new Map<number, number>();
    const blocks: Block[] = [];
    for (const group of this.#groups.values()) {
      const { rank, count } = group;
      const last = group.items.at(-1)?.lines.at(-1)?.number ?? 0;
      if (count > group.items.length) folds.set(last, count - group.items.length);
      if (rank === 'failure' || rank === 'error') blocks.push(...group.items);
      else
        for (const [i, { lines }] of group.items.entries())
          items.push({ lines, priority: this.#plainPriority(group, i) });
    }
    items.push(...failureItems(blocks));
    const tail = this.#tail.filter(({ text }) => text.trim() !== '').slice(-TAIL_LINES);
    for (const [i, line] of tail.reverse().entries())
      items.push({ lines: [line], priority: i < 4 ? 940 - i : i < 10 ? 560 - i : 200 - i });
    for (const [i, line] of this.#head.entries())
      items.push({ lines: [line], priority: i < 3 ? 640 - i : 210 - i });
    return { items, folds };
  }

  #plainPriority({ rank, count, items, last }: Group, i: number): number {
    const nearEnd = items[i]!.lines[0]!.number / Math.max(1, last);
    if (rank === 'summary') return 700 + 50 * nearEnd + i;
    if (rank === 'warning') return 420 - 20 * Math.log2(count) - 60 * i;
    const variety = this.#groups.size / Math.max(1, this.#lines);
    return (rank === 'quiet' ? 250 : 300) - 60 * variety - 15 * Math.log2(count) - 40 * i;
  }
}

/** The first failure comes first and whole, then the headlines of the others, then their details in order. */
function failureItems(blocks: Block[]): Item[] {
  blocks.sort((a, b) => a.lines[0]!.number - b.lines[0]!.number);
  // A runner may list a failure twice: once in the list of tests, once with details.
  const longest = new Map<string, Block>();
  for (const block of blocks) {
    const name = block.lines[block.headline]!.text.trim().replace(/\s*\(\d[\d.]*m?s\)$/, '');
    const known = longest.get(name);
    if (!known || known.lines.length - known.headline < block.lines.length - block.headline)
      longest.set(name, block);
  }
  const unique = [...longest.values()];
  const first = unique.find(({ rank }) => rank === 'failure') ?? unique[0];
  return unique.flatMap((block, i): Item[] => {
    const { lines, headline, rank } = block;
    const step = Math.min(i, 90);
    if (block === first)
      return lines.map((line, k) => ({ lines: [line], priority: 1000 - Math.abs(k - headline) }));
    const body = [...lines.slice(0, headline), ...lines.slice(headline + 1)];
    const top = rank === 'failure' ? 640 : 620;
    const head = { lines: [lines[headline]!], priority: top - step };
    return body.length === 0 ? [head] : [head, { lines: body, priority: 520 - step }];
  });
}

function indentOf(text: string): number {
  return text.length - text.trimStart().length;
}

/** Copies the text, because a slice keeps the whole chunk in memory. */
function own(line: Line): Line {
  return { ...line, text: ` ${line.text}`.slice(1) };
}
