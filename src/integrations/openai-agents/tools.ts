import { type FunctionTool, tool } from '@openai/agents';
import type { ContextRelay } from '../../sdk/context-relay.ts';
import { type RelayToolOptions, relayTools } from '../relay-tools.ts';

/** `push_context`, `peek_context` and `pull_context`, for `new Agent({ tools })`. */
export function contextRelayTools(
  relay: ContextRelay,
  options: RelayToolOptions = {},
  // biome-ignore lint/suspicious/noExplicitAny: they go with an agent of any context
): FunctionTool<any, any, string>[] {
  return relayTools(relay, options).map(({ name, description, schema, run }) =>
    tool({
      name,
      description,
      // A strict schema would have the model name every argument.
      strict: false,
      parameters: { ...schema, additionalProperties: true },
      execute: (input: unknown, _context, details) => run(input, { signal: details?.signal }),
    }),
  );
}
