import type { ChangeMark } from './change-mark.ts';

/** What one takes beside its key and its own text, roughly: many small ones must not come to more than a few large ones. */
export const ENTRY_CHARS = 256;

/**
 * What was read since the last commit of anyone: for as long as nothing is written, the same question has the same
 * answer. Without a mark it holds nothing.
 */
export class SettledReads<T> {
  readonly #mark: ChangeMark | null;
  readonly #max: number;
  readonly #held = new Map<string, T>();
  #weight = 0;
  #generation = -1;

  /** `max` is what all that is held may come to, in characters. */
  constructor(mark: ChangeMark | null, max: number) {
    this.#mark = mark;
    this.#max = max;
  }

  get(key: string): T | undefined {
    if (!this.#mark) return undefined;
    const generation = this.#mark.generation();
    if (generation !== this.#generation) {
      this.#generation = generation;
      this.#clear();
    }
    return this.#held.get(key);
  }

  /** After `get` found nothing, and in the same turn as the read itself: what was read must not be older than the mark. */
  set(key: string, value: T, chars: number): void {
    const weight = ENTRY_CHARS + key.length + chars;
    if (!this.#mark || weight > this.#max / 8) return;
    if (this.#weight + weight > this.#max) this.#clear();
    this.#held.set(key, value);
    this.#weight += weight;
  }

  #clear(): void {
    if (this.#held.size === 0) return;
    this.#held.clear();
    this.#weight = 0;
  }
}
