/** A file for the checks. The tests of the checks can pass invented files. */
export interface SourceFile {
  /** Path from the project root, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

/** A violation of a rule. `path` says where it is, with the line if there is one. `what` says what is wrong. */
export interface Finding {
  readonly path: string;
  readonly what: string;
}

export function isCode(path: string): boolean {
  return /\.(?:tsx?|mts|mjs|js)$/.test(path);
}

/** Returns whether a file is a test. Tests may import anything. */
export function isTest(path: string): boolean {
  return /\.test\.(?:ts|mjs)$/.test(path);
}
