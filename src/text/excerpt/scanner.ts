import { type DocumentReader, documentReader, LOOK_LINES } from './documents.ts';
import { type Line, own } from './line-reader.ts';
import { QuestionMatches } from './question.ts';
import { type ExcerptKind, type Recognised, type Recogniser, recognise } from './recognisers.ts';
import { shapeOf } from './shape.ts';

/** Lines that are shown together, with their importance. Higher priorities are shown first. */
export interface Item {
  readonly lines: readonly Line[];
  readonly priority: number;
  /** True if the lines are shown only while fewer than two similar lines are shown. */
  readonly novel?: boolean;
}

/** A group of similar lines. `blocks` contains some of them as examples. */
interface Group {
  readonly rank: Recognised['rank'];
  readonly blocks: Block[];
  count: number;
  /** Line number of the last similar line. */
  last: number;
}

interface Block {
  readonly lines: Line[];
  readonly rank: Recognised['rank'];
  /** The recogniser that found the block. Absent if the rank comes from error words or a log level. */
  readonly by?: Recogniser;
  /** Index of the recognised line. The lines before it are context. */
  readonly headline: number;
  /** Position among similar blocks, from 1. */
  readonly nth: number;
}

/**
 * Maximum number of stored examples per shape, by importance. Of summaries, the last ones are stored; of all other
 * lines, the first ones.
 */
const EXAMPLES = { failure: 24, error: 12, summary: 24, warning: 3, quiet: 1, none: 2 } as const;
/** Maximum number of detail lines of a failure, and of a warning. */
const BLOCK_LINES = 48;
const WARNING_LINES = 5;
/** Number of lines of the first failure that come before all other lines. */
const FIRST_LINES = 12;
/** Number of lines of the first failure that come before the other failures. */
const WHOLE_LINES = 28;
/**
 * Number of unindented lines after an error that still belong to it. Used for errors that were found by error words or
 * by a log level, not by a recogniser.
 */
const CONTEXT_AFTER = 2;
const FEW_SUMMARIES = 8;
/** Difference in priority between a match of the question and the lines around it. */
const CONTEXT_BEHIND = 30;
const GROUPS = 3000;
const DOCUMENT_ITEMS = 2000;
const HEAD_LINES = 48;
const TAIL_LINES = 64;
/** Maximum number of evenly spread lines, which fill the rest of the budget. */
const SPREAD_LINES = 48;
/** One in this many lines must be recognised to decide the kind of a text. */
const KIND_SHARE = 50;
/** Weight of a failure for the kind of a text. Other recognised lines have weight 1. */
const FAILURE_VOTES = 20;
/** Number of slots in the table that counts shapes. */
const COUNTED_SHAPES = 2 ** 17;

/** Matches stack frames of runtimes and libraries, which a block omits. */
const LIBRARY_FRAME =
  /^\s+(?:at .*(?:node:|node_modules[/\\]|\/rustc\/|\b(?:java|jdk|sun|javax)\.\w)|\d+: .*\b(?:core|std|alloc|__rustc)::|File ".*(?:site-packages|lib\/python\d)|\/usr\/(?:local\/)?(?:lib\/)?go)/;

/** Collects the important lines of a text while it is read, with limited memory. */
export class Scanner {
  readonly #question: QuestionMatches | null;
  readonly #votes = new Map<ExcerptKind, number>();
  /** The first lines, until it is clear whether the text is a document. */
  #start: Line[] | null = [];
  #document: DocumentReader | null = null;
  #candidates: Item[] = [];
  readonly #counts = new Uint32Array(COUNTED_SHAPES);
  readonly #groups = new Map<number, Group>();
  readonly #head: Line[] = [];
  #tail: Line[] = [];
  #spread: Line[] = [];
  #stride = 1;
  /** The last unindented line, such as the file name above the messages of eslint. */
  #heading: Line | null = null;
  #open: {
    readonly block: Block;
    readonly by?: Recogniser;
    readonly indent: number;
    after: number;
  } | null = null;
  #lines = 0;

  constructor({ question }: { question?: string }) {
    this.#question = question ? new QuestionMatches(question) : null;
  }

  /** Kind of the text, judged by what was read so far. */
  get kind(): ExcerptKind {
    if (this.#document) return this.#document.kind;
    let best: ExcerptKind = 'text';
    let most = this.#lines / KIND_SHARE;
    for (const [kind, count] of this.#votes) if (count > most) [best, most] = [kind, count];
    return best;
  }

  add(line: Line): void {
    if (!this.#start) this.#take(line);
    else if (this.#start.push(line) >= LOOK_LINES) this.#decide();
  }

  #decide(): void {
    const start = this.#start ?? [];
    this.#start = null;
    this.#document = documentReader(start);
    for (const line of start) this.#take(line);
  }

  #take(line: Line): void {
    this.#lines++;
    const blank = line.text.trim() === '';
    if (this.#head.length < HEAD_LINES) this.#head.push(own(line));
    if (!blank) this.#question?.add(line);
    if (this.#document) this.#addToDocument(line, blank);
    else this.#addToRun(line, blank);
    if (!blank && this.#lines % this.#stride === 0 && this.#spread.push(own(line)) > 2 * SPREAD_LINES) {
      this.#spread = this.#spread.filter((_, i) => i % 2 === 1);
      this.#stride *= 2;
    }
    this.#tail.push(line);
    if (this.#tail.length > 4 * TAIL_LINES) this.#tail = this.#tail.slice(-2 * TAIL_LINES);
  }

  #addToDocument(line: Line, blank: boolean): void {
    if (blank) return;
    this.#document!.add(own(line), this.#find);
    if (this.#candidates.length > 2 * DOCUMENT_ITEMS) {
      this.#candidates.sort((a, b) => b.priority - a.priority || a.lines[0]!.number - b.lines[0]!.number);
      this.#candidates.length = DOCUMENT_ITEMS;
    }
  }

  readonly #find = (line: Line, priority: number) => {
    const context = line.context?.flat().filter(({ number }) => number < line.number) ?? [];
    this.#candidates.push({ lines: [...context, line], priority });
  };

  #addToRun(line: Line, blank: boolean): void {
    const found = blank ? null : recognise(line);
    if (found?.kind) {
      const weight = found.rank === 'failure' ? FAILURE_VOTES : 1;
      this.#votes.set(found.kind, (this.#votes.get(found.kind) ?? 0) + weight);
    }
    const inside = this.#open !== null && this.#extend(line, blank, found);
    if (found) this.#count(line, found, inside);
    if (!blank && indentOf(line.text) === 0) this.#heading = line;
  }

  /** Adds the line to the open block. Returns false if the block ended before the line. */
  #extend({ text, ...place }: Line, blank: boolean, found: Recognised | null): boolean {
    const open = this.#open!;
    const { block, by, indent } = open;
    const most = block.rank === 'warning' ? WARNING_LINES : BLOCK_LINES;
    let belongs = block.lines.length - block.headline < most;
    if (by?.until) belongs &&= !by.until.test(text) && !(found?.by && found.rank === 'quiet');
    else if (found?.by?.until) belongs = false;
    else if (!blank) {
      const deeper = indentOf(text) > indent;
      const starts = found?.rank === 'failure' || found?.rank === 'summary' || found?.rank === 'warning';
      belongs &&= deeper || (!starts && found?.rank !== 'quiet' && open.after-- > 0);
    }
    if (!belongs) this.#open = null;
    else if (!LIBRARY_FRAME.test(text)) block.lines.push(own({ text, ...place }));
    return belongs;
  }

  /** Counts the line in its group of similar lines. Stores the line if it is one of the first of the group. */
  #count(line: Line, { rank, by }: Recognised, inside: boolean): void {
    const shape = groupKey(line.text, rank, by);
    const count = ++this.#counts[shape % COUNTED_SHAPES]!;
    let group = this.#groups.get(shape);
    if (!group) {
      // This ordinary line was seen before, but its group was removed: the group was frequent, or there were too many
      // groups. Do not store the line as a new example.
      if (inside || (count > 1 && (rank === null || rank === 'quiet'))) return;
      if (this.#groups.size >= GROUPS) this.#makeRoom();
      group = { rank, blocks: [], count: 0, last: 0 };
      this.#groups.set(shape, group);
    }
    group.count++;
    group.last = line.number;
    if (inside) return;
    if (rank === 'summary' && group.blocks.length >= EXAMPLES.summary) group.blocks.shift();
    const isKept = group.blocks.length < EXAMPLES[rank ?? 'none'];
    // Open a block for the details of a failure even if the failure is not stored. Otherwise its details would count as
    // rare lines.
    const opens = rank === 'failure' || rank === 'error' || (rank === 'warning' && by !== undefined);
    if (!isKept && !opens) return;
    const before = this.#before(line, by, rank);
    const block: Block = {
      lines: [...before, line].map(own),
      rank,
      by,
      headline: before.length,
      nth: group.count,
    };
    if (isKept) group.blocks.push(block);
    if (!opens) return;
    this.#open = {
      block,
      by,
      indent: indentOf(line.text),
      after: by ? (by.after ?? 0) : CONTEXT_AFTER,
    };
  }

  #before(line: Line, by: Recogniser | undefined, rank: Recognised['rank']): Line[] {
    if (by?.before === 'heading') return this.#heading ? [this.#heading] : [];
    const count = by ? (by.before ?? 0) : rank === 'error' ? 1 : 0;
    if (count === 0) return [];
    const lines = this.#tail.slice(-count).filter(({ number }) => number >= line.number - count);
    return lines.filter((near) => near.text.trim() !== '' && recognise(near).rank !== 'quiet');
  }

  /** Removes the groups of ordinary lines that are frequent. If too many groups remain, removes every second one. */
  #makeRoom(): void {
    for (const [shape, { rank, count }] of this.#groups)
      if ((rank === null || rank === 'quiet') && count > 2) this.#groups.delete(shape);
    if (this.#groups.size < GROUPS * 0.75) return;
    let i = 0;
    for (const shape of this.#groups.keys()) if (i++ % 2 === 1) this.#groups.delete(shape);
  }

  /** Returns the collected lines with their priorities. Call it once, after the last line. */
  items(): Item[] {
    if (this.#start) this.#decide();
    this.#document?.end(this.#find);
    const items: Item[] = [...this.#candidates];
    const failures: Block[] = [];
    for (const group of this.#groups.values()) {
      if (group.rank === 'failure' || group.rank === 'error') failures.push(...group.blocks);
      else
        for (const [i, { lines }] of group.blocks.entries())
          items.push({ lines, priority: this.#priority(group, i), novel: group.rank !== 'summary' });
    }
    items.push(...failureItems(failures));
    let rank = 0;
    this.#question?.best((line, score, around) => {
      const priority = 560 + 400 * score - 2 * Math.min(100, rank++);
      items.push({ lines: [line], priority }, { lines: around, priority: priority - CONTEXT_BEHIND });
    });
    const written = (lines: Line[]) => lines.filter(({ text }) => text.trim() !== '');
    for (const [i, line] of written(this.#tail).slice(-TAIL_LINES).reverse().entries())
      items.push({
        lines: [line],
        priority: i === 0 ? 960 : i < 4 && line.column === 0 ? 690 - i : 330 - 3 * i,
        novel: i >= 4,
      });
    for (const [i, line] of written(this.#head).entries())
      items.push({
        lines: [line],
        priority: i < 3 && line.column === 0 ? 650 - i : 320 - 3 * i,
        novel: i >= 3 && !this.#document,
      });
    for (const line of this.#spread) items.push({ lines: [line], priority: 220, novel: true });
    return items;
  }

  /** Returns a number that is equal for similar lines of one importance. */
  shapeOf(line: Line): number {
    const { rank, by } = recognise(line);
    return groupKey(line.text, rank, by);
  }

  /** Returns how many lines are similar to this one, and the number of the last such line. */
  similar(line: Line): { readonly count: number; readonly last: number } | undefined {
    return this.#groups.get(this.shapeOf(line));
  }

  #priority({ rank, count, blocks }: Group, i: number): number {
    // A line with a count, such as `12 done`, is only a summary if few lines are similar to it.
    const isSummary = rank === 'summary' && (blocks[i]!.by || count <= FEW_SUMMARIES);
    if (isSummary) return 700 + (50 * blocks[i]!.lines[0]!.number) / this.#lines;
    if (rank === 'warning') return 440 - 20 * Math.log2(count) - 60 * i;
    return (rank === 'quiet' ? 290 : 300) - 15 * Math.log2(count) - 40 * i;
  }
}

/**
 * Returns the failures as items: first the whole first failure, then the headlines of the others, then their details
 * in order.
 */
function failureItems(blocks: Block[]): Item[] {
  blocks.sort((a, b) => a.lines[0]!.number - b.lines[0]!.number);
  // A runner may list a failure twice: in the list of tests and with details. Keep only the longest block.
  const longest = new Map<string, Block>();
  for (const block of blocks) {
    const name = block.lines[block.headline]!.text.trim().replace(/\s*\(?\d[\d.]*\s?m?s\)?$/, '');
    const previous = longest.get(name);
    if (!previous || previous.lines.length - previous.headline < block.lines.length - block.headline)
      longest.set(name, block);
  }
  const unique = [...longest.values()];
  const first = unique.find(({ rank }) => rank === 'failure') ?? unique[0];
  const hasRecognised = unique.some(({ by }) => by);
  return unique.flatMap((block, i): Item[] => {
    const { headline, rank, by, nth } = block;
    const lines = block.lines.slice(0, block.lines.findLastIndex(({ text }) => text.trim() !== '') + 1);
    if (block === first)
      return lines.map((line, k) => ({
        lines: [line],
        priority: (k < FIRST_LINES ? 1000 : k < WHOLE_LINES ? 740 : 600) - Math.abs(k - headline),
      }));
    // Of failures with the same shape, the first one ranks highest. A failure that a recogniser found ranks
    // above a line with error words.
    const step =
      Math.min(90, i) +
      Math.min(200, (by?.kind === 'build' ? 40 : 6) * (nth - 1)) +
      (hasRecognised && !by ? 60 * nth : 0);
    const head = by ? lines.slice(0, headline + 1) : [lines[headline]!];
    const items: Item[] = [{ lines: head, priority: (rank === 'failure' ? 640 : 620) - step }];
    const body = by ? lines.slice(headline + 1) : lines.filter((_, k) => k !== headline);
    for (const [k, line] of body.entries()) items.push({ lines: [line], priority: 590 - step / 2 - 5 * k });
    return items;
  });
}

/**
 * Returns a number for the group of a line. Similar lines get the same number. An error and a harmless line
 * get different numbers, even if the lines differ only in a number such as the status of a request.
 */
function groupKey(text: string, rank: Recognised['rank'], by?: Recogniser): number {
  const important = rank === 'failure' || rank === 'error' ? 2 ** 32 : rank === 'warning' ? 2 ** 33 : 0;
  return shapeOf(by?.rule?.exec(text)?.[0] ?? text) + important;
}

function indentOf(text: string): number {
  return text.length - text.trimStart().length;
}
