import { sha256Hex } from '../../base/hash.ts';
import type { TokenCount } from '../../base/tokens.ts';
import { type Caller, LOCAL_CALLER } from '../../contract/caller.ts';
import type { PromptLedger, ReadKind, Stats, SumStats } from '../../contract/threads.ts';
import type { Background } from '../background.ts';
import type { Deps } from '../deps.ts';
import { WriteBehind } from '../write-behind.ts';
import type { StoredEvent } from './event.ts';
import { EMPTY_TOTALS, type Head, metricsOf, type Totals } from './fold.ts';
import { COUNTERS, type Counters, counterKey, idOf, type ThreadRoot } from './keys.ts';
import { markChanged, type ThreadFigures } from './tenant-totals.ts';

/** Time in ms before counters are written. Reads are frequent, so several reads are written together. */
const WRITE_EVERY_MS = 250;
/** Maximum number of threads whose reads wait to be written. */
const MAX_THREADS = 10_000;
/** Maximum number of answers whose token count is cached. */
const MAX_CACHED_COUNTS = 1_000;

/** The parts of `ThreadLog` that the ledger uses. */
interface Log {
  readonly deps: Deps;
  readonly background: Background;
  ownerOf(root: ThreadRoot): Promise<string | undefined>;
  note(caller: Caller, id: string, event: StoredEvent): Promise<unknown>;
}

/**
 * Counts the tokens that models get to see. Artifacts, prompts and pulls are events in the log and are counted there.
 * Other reads are frequent, so they are added to counters that are write-behind: a crash may lose the last few reads,
 * but no read is counted twice.
 */
export class TokenLedger {
  readonly #log: Log;
  /** Increments that are not yet added to the stored counters, by thread. */
  readonly #reads: WriteBehind<ReadonlyMap<string, number>>;
  /** Token counts of answers, by the digest of the answer. */
  readonly #cachedCounts = new Map<string, number>();

  constructor(log: Log) {
    this.#log = log;
    this.#reads = new WriteBehind(log.deps.engine, {
      delayMs: WRITE_EVERY_MS,
      most: MAX_THREADS,
      merge: (older, newer) => {
        const sums = new Map(older);
        for (const [key, delta] of newer) sums.set(key, (sums.get(key) ?? 0) + delta);
        return sums;
      },
      write: (root, counters) => this.#write(root as ThreadRoot, counters),
    });
  }

  /** Records a prompt: the tokens that it has, and the tokens that it would have if everything had been pasted. */
  recordPrompt(root: ThreadRoot, { prompt, pasted }: { prompt: TokenCount; pasted: TokenCount }): void {
    const payload = {
      prompt_tokens: prompt.tokens,
      pasted_tokens: pasted.tokens,
      tokenizer: prompt.tokenizer,
      estimated: prompt.estimated || pasted.estimated,
    };
    const event = { type: 'prompt.rendered', at: this.#log.deps.env.now(), payload };
    this.#log.background.run(async () => {
      const tenant = await this.#log.ownerOf(root);
      if (tenant !== undefined) await this.#log.note({ ...LOCAL_CALLER, tenant }, idOf(root), event);
    });
  }

  /** Counts the tokens of an answer in the background and records the read of the answer. */
  countRead(root: ThreadRoot, kind: ReadKind, answer: unknown): void {
    // If the count fails, the read is missing in the figures. The answer is not affected.
    this.#log.background.run(async () =>
      this.recordRead(root, kind, await this.#count(JSON.stringify(answer))),
    );
  }

  /** Adds a read that is not part of a prompt to the counters of the thread. */
  recordRead(root: ThreadRoot, kind: ReadKind, tokens: number): void {
    const counts = new Map([[counterKey(root, `${kind}_times`), 1]]);
    if (tokens > 0) counts.set(counterKey(root, `${kind}_tokens`), tokens);
    this.#reads.note(root, counts);
  }

  /** Returns the token figures of a thread. */
  async statsOf({ id, root, totals }: Head): Promise<Stats> {
    const figures = figuresOf(totals, await this.counters(root));
    const tokenizer = figures.tokenizer || (await this.#log.deps.texts.count('')).tokenizer;
    return { thread_id: id, ...figures, tokenizer, recent_prompts: totals.recent };
  }

  /** Returns the stored counters, without the increments that are still in memory. */
  async counters(root: ThreadRoot): Promise<Counters> {
    const values = COUNTERS.map(async (what) => [what, await this.counter(root, what)] as const);
    return Object.fromEntries(await Promise.all(values)) as Record<keyof Counters, number>;
  }

  /** Returns one stored counter, without the increments that are still in memory. */
  async counter(root: ThreadRoot, what: keyof Counters): Promise<number> {
    const value = (await this.#log.deps.engine.records.get(counterKey(root, what)))?.value;
    return typeof value === 'number' ? value : 0;
  }

  /** Writes all increments that are still in memory. */
  async flush(): Promise<void> {
    await this.#log.background.settle();
    await this.#reads.flush();
  }

  /**
   * Writes the counters of a thread. A failed write is not repeated, because the retry could count a read
   * twice.
   */
  async #write(root: ThreadRoot, counters: ReadonlyMap<string, number>): Promise<void> {
    const tenant = await this.#log.ownerOf(root);
    if (tenant === undefined) return;
    const added = Array.from(counters, ([key, delta]) => this.#log.deps.engine.records.add(key, delta));
    await Promise.allSettled([...added, markChanged(this.#log.deps, tenant, idOf(root))]);
  }

  /** Counts tokens with a cache, because clients that poll mostly read the same answer. */
  async #count(text: string): Promise<number> {
    const digest = await sha256Hex(text);
    const cached = this.#cachedCounts.get(digest);
    if (cached !== undefined) return cached;
    const { tokens } = await this.#log.deps.texts.count(text);
    if (this.#cachedCounts.size >= MAX_CACHED_COUNTS) this.#cachedCounts.clear();
    this.#cachedCounts.set(digest, tokens);
    return tokens;
  }
}

/**
 * Returns the figures of prompts. Returns null if there were no prompts: reads alone do not show what pasting would
 * have cost.
 */
function promptLedger(totals: Totals, read_tokens: number): PromptLedger | null {
  const { prompts, pasted_tokens, prompt_tokens, tool_calls, tool_call_tokens } = totals;
  if (prompts === 0) return null;
  const shown_tokens = prompt_tokens + tool_call_tokens + read_tokens;
  const avoided_tokens = pasted_tokens - shown_tokens;
  return {
    prompts,
    pasted_tokens,
    shown_tokens,
    avoided_tokens,
    prompt_tokens,
    tool_calls,
    tool_call_tokens,
    read_tokens,
  };
}

function figuresOf(totals: Totals, counters: Counters): ThreadFigures {
  const breakdown = {
    headers: counters.headers_tokens,
    header_reads: counters.headers_times,
    states: counters.states_tokens,
    state_reads: counters.states_times,
    previews: counters.previews_tokens,
    preview_reads: counters.previews_times,
    listings: counters.listings_tokens,
    listing_reads: counters.listings_times,
    searches: counters.searches_tokens,
    search_reads: counters.searches_times,
    pulls: totals.pull_tokens,
    pull_reads: totals.pulls,
  };
  const { headers, states, previews, listings, searches, pulls } = breakdown;
  const { tokens_estimate, tokens_avoided } = metricsOf(totals);
  return {
    artifacts: totals.artifacts,
    naive_tokens: tokens_estimate,
    actual_tokens: tokens_estimate - tokens_avoided,
    avoided_tokens: tokens_avoided,
    cache_hits: totals.cache_hits,
    session_cache_hits: totals.session_cache_hits,
    breakdown,
    tokenizer: totals.tokenizer ?? '',
    estimated: totals.estimated,
    billed: {
      input_tokens: totals.billed_input,
      output_tokens: totals.billed_output,
      cached_input_tokens: totals.billed_cached_input,
    },
    prompts: promptLedger(totals, headers + states + previews + listings + searches + pulls),
  };
}

const NO_COUNTS = Object.fromEntries(COUNTERS.map((what) => [what, 0])) as Counters;

/** Sums the figures of several threads. */
export function sumStats(all: readonly ThreadFigures[]): SumStats {
  return { threads: all.length, ...all.reduce(addFigures, figuresOf(EMPTY_TOTALS, NO_COUNTS)) };
}

/**
 * Adds two values of the same type: numbers are added, objects are added field by field, the first text that is not
 * empty stays, and null is replaced by the other value.
 */
function addFigures<T>(a: T, b: T): T {
  if (typeof a === 'number') return (a + (b as number)) as T;
  if (typeof a !== 'object' || a === null || b === null) return a || b;
  const sum: T = { ...a };
  for (const name in sum) sum[name] = addFigures(sum[name], (b as T)[name]);
  return sum;
}
