type Step = { readonly many: boolean; readonly takes: (char: string) => boolean };

/** Maximum number of patterns that braces may expand to. */
const MOST_PATTERNS = 100;

/**
 * Returns a function that matches paths with a glob: `*` and `?` within a segment, `**` across segments,
 * `[a-z]`, `{md,txt}`. All alternatives are tried at once, so no pattern takes long.
 */
export function globMatcher(glob: string): (path: string) => boolean {
  const patterns = expanded(glob).map(steps);
  return (path) => patterns.some((pattern) => matches(pattern, path));
}

function matches(pattern: readonly Step[], path: string): boolean {
  let places = skipped(pattern, new Set([0]));
  for (const char of path) {
    const next = new Set<number>();
    for (const at of places) {
      const step = pattern[at];
      if (step?.takes(char)) next.add(step.many ? at : at + 1);
    }
    places = skipped(pattern, next);
    if (places.size === 0) return false;
  }
  return places.has(pattern.length);
}

/**
 * Adds the positions in the pattern that are reached without reading a character. A step such as `*` may match
 * nothing, so the position after such a step is possible too.
 */
function skipped(pattern: readonly Step[], places: Set<number>): Set<number> {
  for (const at of places) if (pattern[at]?.many) places.add(at + 1);
  return places;
}

function steps(glob: string): Step[] {
  const pattern: Step[] = [];
  for (let i = 0; i < glob.length; i++) {
    const char = glob[i]!;
    const end = char === '[' ? glob.indexOf(']', i + 2) : -1;
    if (char === '*') {
      const across = glob[i + 1] === '*';
      pattern.push({ many: true, takes: across ? () => true : (c) => c !== '/' });
      if (across) i++;
    } else if (char === '?') pattern.push({ many: false, takes: (c) => c !== '/' });
    else if (end > 0) {
      pattern.push({ many: false, takes: oneOf(glob.slice(i + 1, end)) });
      i = end;
    } else pattern.push({ many: false, takes: (c) => c === char });
  }
  return pattern;
}

function oneOf(set: string): (char: string) => boolean {
  const not = /^[!^]/.test(set);
  const inside = not ? set.slice(1) : set;
  const has = (char: string) =>
    [...inside.matchAll(/(.)-(.)|(.)/gsu)].some(([, from, to, one]) =>
      one === undefined ? from! <= char && char <= to! : one === char,
    );
  return (char) => char !== '/' && has(char) !== not;
}

/**
 * Expands braces into one pattern per choice. A `**` and the slash after it may match nothing. So a pattern that
 * contains them is expanded into two patterns: one keeps the `**` and the slash, the other omits both.
 */
function expanded(glob: string): string[] {
  const done: string[] = [];
  for (const todo = [glob]; todo.length > 0 && done.length < MOST_PATTERNS; ) {
    const next = todo.shift()!;
    const braces = /\{([^{}]*)\}/.exec(next);
    const folders = /(?:^|\/)\*\*\//.exec(next);
    if (braces) {
      for (const choice of braces[1]!.split(',')) todo.push(next.replace(braces[0], () => choice));
    } else if (folders) {
      // Replace the slash with NUL, so that the next round does not expand this `**/` again. The slash is put
      // back at the end.
      todo.push(next.replace('**/', ''), next.replace('**/', '**\u0000'));
    } else done.push(next.replaceAll('\u0000', '/'));
    if (todo.length > MOST_PATTERNS) break;
  }
  return done;
}
