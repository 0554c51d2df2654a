import type { Processor } from '@mastra/core/processors';
import type { ContextRelay } from '../../sdk/context-relay.ts';
import { type LargeResultOptions, LargeResults } from '../large-results.ts';
import { swapResults } from '../prompt-results.ts';

type LargeResultProcessor = Processor<'contextrelay-large-results'> &
  Required<Pick<Processor, 'processLLMRequest'>>;

/**
 * For `inputProcessors` of an agent: results of tools that are too large for the prompt reach the model as pointers. Memory
 * keeps them whole. Give the agent `pull_context` of `contextRelayTools`, with which it reads what it needs.
 */
export function largeResultProcessor(
  relay: ContextRelay,
  options: LargeResultOptions = {},
): LargeResultProcessor {
  const results = new LargeResults(relay, options);
  return {
    id: 'contextrelay-large-results',
    async processLLMRequest({ prompt, abortSignal }) {
      return {
        prompt: await swapResults(prompt, (text, tool) => results.shown(text, tool, { signal: abortSignal })),
      };
    },
  };
}
