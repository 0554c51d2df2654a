import type { LanguageModelMiddleware } from 'ai';
import type { ContextRelay } from '../../sdk/context-relay.ts';
import { type LargeResultOptions, LargeResults } from '../large-results.ts';
import { swapResults } from '../prompt-results.ts';

/**
 * Middleware for `wrapLanguageModel`: results of tools that are too large for the prompt reach the model as pointers. The
 * messages of the program keep the results whole. Give the model `pull_context` of `contextRelayTools`, with which it reads
 * what it needs.
 */
export function largeResultMiddleware(
  relay: ContextRelay,
  options: LargeResultOptions = {},
): LanguageModelMiddleware {
  const results = new LargeResults(relay, options);
  return {
    specificationVersion: 'v4',
    async transformParams({ params }) {
      const shown = (text: string, tool: string) => results.shown(text, tool, { signal: params.abortSignal });
      return { ...params, prompt: await swapResults(params.prompt, shown) };
    },
  };
}
