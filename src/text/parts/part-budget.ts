import type { TokenCount, TokenCounter } from '../../base/tokens.ts';
import type { Part } from './part-request.ts';

export interface CountedPart extends Part {
  /** Of `text`. */
  readonly tokens: TokenCount;
}

/** A part with at most `budget` tokens, cut at the end of a line where one is near. `about` says so, and where to go on. */
export async function withinBudget(part: Part, budget: number, counter: TokenCounter): Promise<CountedPart> {
  let { text } = part;
  let tokens = await counter.count(text);
  if (tokens.tokens <= budget) return { ...part, tokens };
  while (tokens.tokens > budget) {
    // Tokens are not spread evenly, so it may take a second cut.
    const chars = Math.floor((text.length * budget) / tokens.tokens);
    const line = text.lastIndexOf('\n', chars);
    text = text.slice(0, line > chars / 2 ? line : chars).replace(/[\ud800-\udbff]$/, '');
    tokens = await counter.count(text);
  }
  const from = /^lines (\d+)/.exec(part.about)?.[1];
  const next = from ? `go on with lines=${Number(from) + text.split('\n').length}-` : 'ask for less of it';
  return { text, about: `${part.about}; cut at ${budget} tokens; ${next}`, truncated: true, tokens };
}
