import {
  createSdkMcpServer,
  type McpSdkServerConfigWithInstance,
  tool,
} from '@anthropic-ai/claude-agent-sdk';
import * as z from 'zod';
import type { ContextRelay } from '../../sdk/context-relay.ts';
import { type RelayToolOptions, type RelayToolSchema, relayTools } from '../relay-tools.ts';

/**
 * A server in this process for `mcpServers`, with `push_context`, `peek_context` and `pull_context`. Under the name
 * `contextrelay` the tools to allow are called `mcp__contextrelay__push_context` and so on.
 */
export function contextRelayServer(
  relay: ContextRelay,
  options: RelayToolOptions = {},
): McpSdkServerConfigWithInstance {
  const tools = relayTools(relay, options).map(({ name, description, schema, run }) =>
    tool(name, description, shapeOf(schema), async (input, extra) => {
      const { signal } = (extra ?? {}) as { signal?: AbortSignal };
      return { content: [{ type: 'text', text: await run(input, { signal }) }] };
    }),
  );
  return createSdkMcpServer({ name: 'contextrelay', tools });
}

/** The framework takes zod and nothing else. */
function shapeOf({ properties, required }: RelayToolSchema): z.ZodRawShape {
  const fields = Object.entries(properties).map(([name, { type, description }]) => {
    const field = (type === 'boolean' ? z.boolean() : z.string()).describe(description);
    return [name, required.includes(name) ? field : field.optional()];
  });
  return Object.fromEntries(fields);
}
