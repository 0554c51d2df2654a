import { RelayError } from '../../base/errors.ts';

const BEGIN = /^<{7}(?: |$)/;
const BASE = /^\|{7}(?: |$)/;
const MIDDLE = /^={7}$/;
const END = /^>{7}(?: |$)/;

/** The line, counted from 1, at which git left a conflict in a file; null where it left none. */
export function conflictLine(text: string): number | null {
  const lines = text.split(/\r\n|\n|\r/);
  const begin = lines.findIndex((line) => BEGIN.test(line));
  const middle = lines.findIndex((line, index) => index > begin && MIDDLE.test(line));
  const end = lines.findIndex((line, index) => index > middle && END.test(line));
  return begin >= 0 && middle >= 0 && end >= 0 ? begin + 1 : null;
}

/** A file that git left in conflict is not written to. */
export function needResolved(file: string, text: string): void {
  const line = conflictLine(text);
  if (line !== null) throw new RelayError('conflicted', { file, line });
}

/** A file before two sides changed it, and as each of them has it. */
export interface Sides {
  readonly base: string;
  readonly ours: string;
  readonly theirs: string;
}

/** The sides of a file with conflict markers. What is before a conflict is known only where git was told to show it (diff3). */
export function sidesOf(text: string): Sides {
  const sides = { base: '', ours: '', theirs: '' };
  let side: keyof typeof sides | null = null;
  for (const line of text.split(/(?<=\r\n|\n|\r(?!\n))/)) {
    const bare = line.replace(/[\r\n]+$/, '');
    if (side === null && BEGIN.test(bare)) side = 'ours';
    else if (side === 'ours' && BASE.test(bare)) side = 'base';
    else if ((side === 'ours' || side === 'base') && MIDDLE.test(bare)) side = 'theirs';
    else if (side === 'theirs' && END.test(bare)) side = null;
    else {
      for (const each of side === null ? (['base', 'ours', 'theirs'] as const) : [side]) sides[each] += line;
    }
  }
  return sides;
}
