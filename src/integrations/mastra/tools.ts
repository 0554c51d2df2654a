import { createTool, type Tool } from '@mastra/core/tools';
import type { ContextRelay } from '../../sdk/context-relay.ts';
import { type RelayToolOptions, relayTools } from '../relay-tools.ts';

/** For `tools` of an agent, by the names that the model calls them by. */
export interface ContextRelayTools {
  [name: string]: Tool<unknown, unknown>;
  push_context: Tool<unknown, unknown>;
  peek_context: Tool<unknown, unknown>;
  pull_context: Tool<unknown, unknown>;
}

export function contextRelayTools(relay: ContextRelay, options: RelayToolOptions = {}): ContextRelayTools {
  const made = relayTools(relay, options).map(({ name, description, schema, run }) => [
    name,
    createTool({
      id: name,
      description,
      inputSchema: schema,
      execute: (input: unknown, context) => run(input, { signal: context?.abortSignal }),
    }),
  ]);
  return Object.fromEntries(made);
}
