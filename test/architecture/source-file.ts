/** A file for the checks. The tests of the checks can pass invented files. */
export interface SourceFile {
  /** Path from the project root, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

/** A violation: what is wrong, where, and the reason of the rule. */
export interface Finding {
  readonly path: string;
  readonly what: string;
}

export function isCode(path: string): boolean {
  return /\.(?:tsx?|mts|mjs|js)$/.test(path);
}

/** Unit tests next to a source may import anything. */
export function isTest(path: string): boolean {
  return /\.test\.(?:ts|mjs)$/.test(path);
}
