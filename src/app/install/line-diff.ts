/** What changes between two texts, as people read it: `-` and `+` with a few lines around, nothing where they are equal. */
export function lineDiff(before: string, after: string, around = 2): string[] {
  if (before === after) return [];
  const [a, b] = [split(before), split(after)];
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  const middle = script(a.slice(head, a.length - tail), b.slice(head, b.length - tail));
  const from = Math.max(0, head - around);
  const rows = [
    ...a.slice(from, head).map((line) => ` ${line}`),
    ...middle,
    ...a.slice(a.length - tail, a.length - tail + around).map((line) => ` ${line}`),
  ];
  return [`@@ line ${from + 1} @@`, ...shorten(rows, around)];
}

/** Beyond this the two are shown one after the other: a settings file is small, and a table of their lines is not. */
const TABLE_CELLS = 1_000_000;

/** The longest common subsequence, which is the shortest list of changes. */
function script(a: readonly string[], b: readonly string[]): string[] {
  if (a.length * b.length > TABLE_CELLS)
    return [...a.map((line) => `-${line}`), ...b.map((line) => `+${line}`)];
  const width = b.length + 1;
  const common = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i * width + j] =
        a[i] === b[j]
          ? common[(i + 1) * width + j + 1]! + 1
          : Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!);
    }
  }
  const rows: string[] = [];
  for (let i = 0, j = 0; i < a.length || j < b.length; ) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      rows.push(` ${a[i++]}`);
      j++;
    } else if (
      j >= b.length ||
      (i < a.length && common[(i + 1) * width + j]! >= common[i * width + j + 1]!)
    ) {
      rows.push(`-${a[i++]}`);
    } else rows.push(`+${b[j++]}`);
  }
  return rows;
}

/** Long stretches without a change are cut. */
function shorten(rows: readonly string[], around: number): string[] {
  const near = (index: number) =>
    rows.slice(Math.max(0, index - around), index + around + 1).some((row) => !row.startsWith(' '));
  const kept: string[] = [];
  for (const [index, row] of rows.entries()) {
    if (near(index)) kept.push(row);
    else if (kept.at(-1) !== ' …') kept.push(' …');
  }
  return kept;
}

function split(text: string): string[] {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  return lines;
}
