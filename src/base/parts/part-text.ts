import { PART_CHARS } from '../limits.ts';

/** Behind a line that was cut. */
export const CUT_MARK = ' […]';

/** Collects the lines of a part up to PART_CHARS. */
export class PartText {
  readonly #lines: string[] = [];
  #chars = 0;

  /** False, and nothing added, where the line would pass the limit. */
  add(line: string): boolean {
    if (this.#chars + line.length + 1 > PART_CHARS) return false;
    this.#lines.push(line);
    this.#chars += line.length + 1;
    return true;
  }

  get isEmpty(): boolean {
    return this.#lines.length === 0;
  }

  toString(): string {
    return this.#lines.join('\n');
  }
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
