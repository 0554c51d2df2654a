import type { Env } from '../../base/env.ts';
import type { Entry } from '../../kernel/logs.ts';
import { channelEntry } from './message.ts';
import type { Start } from './start.ts';

/**
 * What one reader sees of a channel's log: messages within the retention, whether or not older ones have been
 * trimmed yet, and a gap mark on the first message behind others that it asked for and does not get.
 */
export class ReaderView {
  readonly #env: Env;
  readonly #retentionMs: number;
  #lenient: boolean;
  #hole: boolean;

  constructor(env: Env, retentionMs: number, start: Start) {
    this.#env = env;
    this.#retentionMs = retentionMs;
    this.#lenient = start.lenient;
    this.#hole = start.gap;
  }

  /** Whether the next visible message will bear the gap mark. */
  get owesGap(): boolean {
    return this.#hole;
  }

  /** The entry as the reader sees it; null for one that is not visible. To be called for every entry, in order. */
  see(entry: Entry): Entry | null {
    if (entry.gap && !this.#lenient) this.#hole = true;
    if (channelEntry(entry.data) === null) return null;
    if (entry.at < this.#env.now() - this.#retentionMs) {
      if (!this.#lenient) this.#hole = true;
      return null;
    }
    this.#lenient = false;
    const { gap, ...seen } = entry;
    if (this.#hole) {
      this.#hole = false;
      return { ...seen, gap: true };
    }
    return gap ? seen : entry;
  }
}
