import { diff } from 'node:util';

/** How many lines without a change are shown around one. */
const AROUND = 2;
const MARKS = { '-1': '+', '0': ' ', '1': '-' } as const;

/** What changes between two texts, as people read it: `-` and `+` with a few lines around, nothing where they are equal. */
export function lineDiff(before: string, after: string): string[] {
  if (before === after) return [];
  const rows = diff(linesOf(before), linesOf(after)).map(([op, line]) => MARKS[`${op}`] + line);
  const near = (index: number) =>
    rows.slice(Math.max(0, index - AROUND), index + AROUND + 1).some((row) => !row.startsWith(' '));
  const shown: string[] = [];
  for (const [index, row] of rows.entries()) {
    if (near(index)) shown.push(row);
    else if (shown.length > 0 && shown.at(-1) !== ' …') shown.push(' …');
  }
  if (shown.at(-1) === ' …') shown.pop();
  return [`@@ line ${rows.findIndex((_, index) => near(index)) + 1} @@`, ...shown];
}

function linesOf(text: string): string[] {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  return lines;
}
