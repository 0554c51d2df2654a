/** A file of the project as the checks see it; they run on any list of these, so that their own tests can make some up. */
export interface SourceFile {
  /** From the root, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

/** What is wrong, where, and why that is a rule. */
export interface Finding {
  readonly path: string;
  readonly what: string;
}

export function isCode(path: string): boolean {
  return /\.(?:tsx?|mts|mjs|js)$/.test(path);
}

/** A unit test beside a source may use whatever it takes to test it. */
export function isTest(path: string): boolean {
  return /\.test\.(?:ts|mjs)$/.test(path);
}
