import type { MatcherFactory } from '../base/parts/grep.ts';

/** The platform's own regular expressions: here the pattern, the payload and the machine belong to the same person. */
export const nativeMatcher: MatcherFactory = (pattern, { ignoreCase }) => {
  const flags = ignoreCase ? 'i' : '';
  try {
    return new RegExp(pattern, `u${flags}`);
  } catch {
    // Many patterns escape more than strict Unicode mode allows.
    return new RegExp(pattern, flags);
  }
};
