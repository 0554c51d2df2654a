/** A line of a comparison of two texts. */
export interface DiffLine {
  readonly kind: 'same' | 'added' | 'removed';
  readonly text: string;
}

/**
 * Maximum number of edits that `diffLines` finds. If the texts differ more, all lines are removed and added, because
 * the search would take too long.
 */
const MAX_EDITS = 1_500;

/** Returns the shortest list of edits that turns one list of lines into the other (Myers' algorithm). */
export function diffLines(from: readonly string[], to: readonly string[]): DiffLine[] {
  let begin = 0;
  while (begin < from.length && begin < to.length && from[begin] === to[begin]) begin++;
  let end = 0;
  while (
    end < from.length - begin &&
    end < to.length - begin &&
    from[from.length - 1 - end] === to[to.length - 1 - end]
  )
    end++;
  const same = (text: string): DiffLine => ({ kind: 'same', text });
  return [
    ...from.slice(0, begin).map(same),
    ...shortestEdit(from.slice(begin, from.length - end), to.slice(begin, to.length - end)),
    ...from.slice(from.length - end).map(same),
  ];
}

function shortestEdit(from: readonly string[], to: readonly string[]): DiffLine[] {
  const trace: Map<number, number>[] = [];
  let reach = new Map<number, number>([[1, 0]]);
  for (let edits = 0; edits <= Math.min(from.length + to.length, MAX_EDITS); edits++) {
    trace.push(new Map(reach));
    for (let k = -edits; k <= edits; k += 2) {
      const down = k === -edits || (k !== edits && reach.get(k - 1)! < reach.get(k + 1)!);
      let x = down ? reach.get(k + 1)! : reach.get(k - 1)! + 1;
      while (x < from.length && x - k < to.length && from[x] === to[x - k]) x++;
      reach.set(k, x);
      if (x >= from.length && x - k >= to.length) return walkBack(trace, from, to);
    }
    reach = new Map(reach);
  }
  return [
    ...from.map((text): DiffLine => ({ kind: 'removed', text })),
    ...to.map((text): DiffLine => ({ kind: 'added', text })),
  ];
}

function walkBack(trace: readonly Map<number, number>[], from: readonly string[], to: readonly string[]) {
  const lines: DiffLine[] = [];
  let x = from.length;
  let y = to.length;
  for (let edits = trace.length - 1; edits >= 0; edits--) {
    const reach = trace[edits]!;
    const k = x - y;
    const down = k === -edits || (k !== edits && reach.get(k - 1)! < reach.get(k + 1)!);
    const before = down ? k + 1 : k - 1;
    const startX = edits === 0 ? 0 : reach.get(before)!;
    const startY = edits === 0 ? 0 : startX - before;
    while (x > startX && y > startY && from[x - 1] === to[y - 1]) {
      lines.push({ kind: 'same', text: from[--x]! });
      y--;
    }
    if (edits === 0) break;
    if (down) lines.push({ kind: 'added', text: to[--y]! });
    else lines.push({ kind: 'removed', text: from[--x]! });
  }
  return lines.reverse();
}
