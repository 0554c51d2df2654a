import { firstSegment } from './objects.ts';

/** A body that was checked. Whoever gets it shares it with others. */
export interface HeldBody {
  readonly key: string;
  readonly sha256: string;
  readonly whole: Uint8Array;
}

const HELD_BYTES = 8 * 1024 * 1024;
/** What was revoked leaves the memory after this, too. */
const HELD_MS = 60_000;

/**
 * Small bodies that went through this isolate a moment ago, one for each first segment of a key. What is pushed to a channel is pulled by every
 * subscriber next: the record is read each time, and the object that has it says whether the body is still this one.
 */
export class BodyCache {
  readonly #held = new Map<string, HeldBody & { readonly until: number }>();
  readonly #now: () => number;
  #bytes = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** What is held of the place in which a name is. */
  near(name: string): HeldBody | null {
    const segment = firstSegment(name);
    const found = this.#held.get(segment);
    if (found && found.until > this.#now()) return found;
    this.drop(segment);
    return null;
  }

  hold(body: HeldBody): void {
    const segment = firstSegment(body.key);
    this.drop(segment);
    this.#held.set(segment, { ...body, until: this.#now() + HELD_MS });
    this.#bytes += body.whole.length;
    // The oldest first, as they were put in.
    for (const [oldest, { until }] of this.#held) {
      if (this.#bytes <= HELD_BYTES && until > this.#now()) break;
      this.drop(oldest);
    }
  }

  drop(name: string): void {
    const segment = firstSegment(name);
    this.#bytes -= this.#held.get(segment)?.whole.length ?? 0;
    this.#held.delete(segment);
  }
}
