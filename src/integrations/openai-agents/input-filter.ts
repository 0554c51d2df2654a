import type { AgentInputItem, CallModelInputFilter } from '@openai/agents';
import type { ContextRelay } from '../../sdk/context-relay.ts';
import { type LargeResultOptions, LargeResults } from '../large-results.ts';

type ResultItem = Extract<AgentInputItem, { type: 'function_call_result' }>;
type Shown = (text: string) => Promise<string>;

/**
 * For `callModelInputFilter` of a runner or a run: results of tools that are too large for the prompt reach the model as
 * pointers. Give the agent `pull_context` of `contextRelayTools`, with which it reads what it needs.
 */
export function largeResultFilter(
  relay: ContextRelay,
  options: LargeResultOptions = {},
): CallModelInputFilter {
  const results = new LargeResults(relay, options);
  return async ({ modelData }) => ({ ...modelData, input: await swapItems(modelData.input, results) });
}

export function swapItems(
  items: readonly AgentInputItem[],
  results: LargeResults,
): Promise<AgentInputItem[]> {
  return Promise.all(
    items.map(async (item): Promise<AgentInputItem> => {
      if (item.type !== 'function_call_result') return item;
      return { ...item, output: await swapped(item.output, (text) => results.shown(text, item.name)) };
    }),
  );
}

/** Texts are swapped; images and files stay. */
async function swapped(output: ResultItem['output'], shown: Shown): Promise<ResultItem['output']> {
  if (typeof output === 'string') return shown(output);
  if (!Array.isArray(output)) {
    return output.type === 'text' ? { ...output, text: await shown(output.text) } : output;
  }
  return Promise.all(
    output.map(async (part) =>
      part.type === 'input_text' ? { ...part, text: await shown(part.text) } : part,
    ),
  );
}
