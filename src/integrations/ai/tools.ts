import { jsonSchema, type Tool, tool } from 'ai';
import type { ContextRelay } from '../../sdk/context-relay.ts';
import { type RelayToolOptions, relayTools } from '../relay-tools.ts';

/** For `tools` of `generateText`, `streamText` and agents, by the names that the model calls them by. */
export interface ContextRelayTools {
  [name: string]: Tool<unknown, string>;
  push_context: Tool<unknown, string>;
  peek_context: Tool<unknown, string>;
  pull_context: Tool<unknown, string>;
}

export function contextRelayTools(relay: ContextRelay, options: RelayToolOptions = {}): ContextRelayTools {
  const made = relayTools(relay, options).map(({ name, description, schema, run }) => [
    name,
    tool({
      description,
      inputSchema: jsonSchema<unknown>(schema),
      execute: (input: unknown, { abortSignal }) => run(input, { signal: abortSignal }),
    }),
  ]);
  return Object.fromEntries(made);
}
