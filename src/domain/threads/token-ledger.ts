import type { TokenCount } from '../../base/tokens.ts';
import type { Caller } from '../../contract/caller.ts';
import type { Stats, SumStats } from '../../contract/threads/tokens.ts';
import type { Deps } from '../deps.ts';
import type { Head } from './fold.ts';
import { ledgerKey } from './keys.ts';
import type { ThreadLog } from './thread-log.ts';

/** Reads come often and close together, so their counters are written together, this much later. */
const WRITE_EVERY_MS = 250;

/**
 * Counts what is read. Artifacts and pulls are events; headers and previews, which are read all the time, are counters
 * that are written behind: a crash may lose the last few, and never adds one.
 */
export class TokenLedger {
  readonly #deps: Deps;
  readonly #log: ThreadLog;
  /** Counter → what is still to be added to it. */
  readonly #pending = new Map<string, number>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(deps: Deps, log: ThreadLog) {
    this.#deps = deps;
    this.#log = log;
  }

  headerRead(id: string, { tokens }: TokenCount): void {
    this.#add(id, 'headers', tokens);
    this.#add(id, 'header_reads', 1);
  }

  previewsRead(id: string, tokens: readonly number[]): void {
    if (tokens.length === 0) return;
    this.#add(
      id,
      'previews',
      tokens.reduce((sum, one) => sum + one, 0),
    );
    this.#add(id, 'preview_reads', tokens.length);
  }

  async stats(caller: Caller, id: string): Promise<Stats> {
    await this.flush();
    return this.statsOf(await this.#log.head(caller, id));
  }

  async statsOf({ id, totals }: Head): Promise<Stats> {
    const [headers, headerReads, previews, previewReads] = await Promise.all([
      this.#get(id, 'headers'),
      this.#get(id, 'header_reads'),
      this.#get(id, 'previews'),
      this.#get(id, 'preview_reads'),
    ]);
    const actual = headers + totals.previews + previews + totals.pull_tokens;
    return {
      thread_id: id,
      artifacts: totals.artifacts,
      naive_tokens: totals.naive,
      actual_tokens: actual,
      avoided_tokens: totals.naive - actual,
      cache_hits: totals.cache_hits,
      session_cache_hits: totals.session_cache_hits,
      breakdown: {
        headers,
        header_reads: headerReads,
        previews: totals.previews + previews,
        preview_reads: totals.artifacts + previewReads,
        pulls: totals.pull_tokens,
        pull_reads: totals.pulls,
      },
      tokenizer: totals.tokenizer ?? (await this.#deps.tokens.count('')).tokenizer,
      estimated: totals.estimated,
      billed: { input_tokens: totals.billed_input, output_tokens: totals.billed_output },
    };
  }

  /** Writes what has been counted since the last time. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const counted = [...this.#pending];
    this.#pending.clear();
    for (const [key, delta] of counted)
      this.#log.background.run(() => this.#deps.engine.records.add(key, delta));
    await this.#log.background.settle();
  }

  #add(id: string, what: Parameters<typeof ledgerKey>[1], delta: number): void {
    if (delta <= 0) return;
    const key = ledgerKey(id, what);
    this.#pending.set(key, (this.#pending.get(key) ?? 0) + delta);
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => void this.flush(), WRITE_EVERY_MS);
    // What is left is written when the store is closed, so this timer need not keep the process alive.
    (this.#timer as { unref?: () => void }).unref?.();
  }

  async #get(id: string, what: Parameters<typeof ledgerKey>[1]): Promise<number> {
    const value = (await this.#deps.engine.records.get(ledgerKey(id, what)))?.value;
    return typeof value === 'number' ? value : 0;
  }
}

/** The sum over several threads. */
export function sumStats(all: readonly Stats[]): SumStats {
  const total = (pick: (stats: Stats) => number) => all.reduce((sum, stats) => sum + pick(stats), 0);
  return {
    threads: all.length,
    artifacts: total((s) => s.artifacts),
    naive_tokens: total((s) => s.naive_tokens),
    actual_tokens: total((s) => s.actual_tokens),
    avoided_tokens: total((s) => s.avoided_tokens),
    cache_hits: total((s) => s.cache_hits),
    session_cache_hits: total((s) => s.session_cache_hits),
    breakdown: {
      headers: total((s) => s.breakdown.headers),
      header_reads: total((s) => s.breakdown.header_reads),
      previews: total((s) => s.breakdown.previews),
      preview_reads: total((s) => s.breakdown.preview_reads),
      pulls: total((s) => s.breakdown.pulls),
      pull_reads: total((s) => s.breakdown.pull_reads),
    },
    tokenizer: all[0]?.tokenizer ?? '',
    estimated: all.some((s) => s.estimated),
    billed: {
      input_tokens: total((s) => s.billed.input_tokens),
      output_tokens: total((s) => s.billed.output_tokens),
    },
  };
}
