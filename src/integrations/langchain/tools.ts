import { DynamicStructuredTool } from '@langchain/core/tools';
import type { ContextRelay } from '../../sdk/context-relay.ts';
import { type RelayToolOptions, relayTools } from '../relay-tools.ts';

/** `push_context`, `peek_context` and `pull_context`, for `createAgent({ tools })` or `model.bindTools()`. */
export function contextRelayTools(
  relay: ContextRelay,
  options: RelayToolOptions = {},
): DynamicStructuredTool[] {
  return relayTools(relay, options).map(
    ({ name, description, schema, run }) =>
      new DynamicStructuredTool({
        name,
        description,
        schema,
        func: (input, _run, config) => run(input, { signal: config?.signal }),
      }),
  );
}
