import { clearMergeCache, countTokens as count } from 'gpt-tokenizer/encoding/o200k_base';
import type { TokenCount } from '../src/base/tokens.ts';

/**
 * Counts with the published tokenizer, which shares no code with ours. Its time grows quadratically with the length of
 * a piece without a break.
 */
export function countTokens(text: string): TokenCount {
  const tokens = count(text, { disallowedSpecial: new Set() });
  clearMergeCache();
  return { tokens, tokenizer: 'o200k_base', estimated: false };
}
