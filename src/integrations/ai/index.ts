import { jsonSchema, type LanguageModelMiddleware, type Tool, tool } from 'ai';
import type { ContextRelay } from '../../sdk/context-relay.ts';
import { type LargeResultOptions, LargeResults } from '../large-results.ts';
import { swapResults } from '../prompt-results.ts';
import { type RelayToolOptions, relayTools } from '../relay-tools.ts';

/** Entry point `contextrelay/ai`. Every export here is public API. */
export type { LargeResultOptions } from '../large-results.ts';
export type { RelayToolOptions } from '../relay-tools.ts';

/** Tools for `generateText`, `streamText` and agents, by the names that the model calls. */
export interface ContextRelayTools {
  [name: string]: Tool<unknown, string>;
  push_context: Tool<unknown, string>;
  peek_context: Tool<unknown, string>;
  pull_context: Tool<unknown, string>;
}

export function contextRelayTools(relay: ContextRelay, options: RelayToolOptions = {}): ContextRelayTools {
  const tools = relayTools(relay, options).map(({ name, description, schema, run }) => [
    name,
    tool({
      description,
      inputSchema: jsonSchema<unknown>(schema),
      execute: (input: unknown, { abortSignal }) => run(input, { signal: abortSignal }),
    }),
  ]);
  return Object.fromEntries(tools);
}

/**
 * Middleware for `wrapLanguageModel`. Replaces large tool results with pointers. The messages of the program keep the
 * full results. Give the model the tool `pull_context` of `contextRelayTools`, so that it can read what it needs.
 */
export function largeResultMiddleware(
  relay: ContextRelay,
  options: LargeResultOptions = {},
): LanguageModelMiddleware {
  const results = new LargeResults(relay, options);
  return {
    specificationVersion: 'v4',
    async transformParams({ params }) {
      return { ...params, prompt: await swapResults(params.prompt, results, params.abortSignal) };
    },
  };
}
