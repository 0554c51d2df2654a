import { RE2JS } from 're2js';
import { GREP_PATTERN_STEPS } from '../../base/limits.ts';
import type { MatcherFactory } from './grep.ts';

/**
 * Compiles a pattern with RE2, whose time is linear in the length of the text. So patterns of untrusted callers are
 * safe.
 */
export const re2Matcher: MatcherFactory = (pattern, { ignoreCase }) => {
  const compiled = RE2JS.compile(pattern, ignoreCase ? RE2JS.CASE_INSENSITIVE : 0);
  if (compiled.programSize() > GREP_PATTERN_STEPS) throw new Error('The pattern is too large.');
  return compiled;
};
