import { isToolMessage, ToolMessage } from '@langchain/core/messages';
import { type AgentMiddleware, createMiddleware } from 'langchain';
import type { ContextRelay } from '../../sdk/context-relay.ts';
import { type LargeResultOptions, LargeResults } from '../large-results.ts';
import { relayTools } from '../relay-tools.ts';
import { contextRelayTools } from './tools.ts';

/**
 * Middleware for `createAgent` that swaps results of tools that are too large for the prompt for pointers, and brings
 * `pull_context`, with which the model reads what it needs of them.
 */
export function largeResultMiddleware(
  relay: ContextRelay,
  options: LargeResultOptions = {},
): AgentMiddleware {
  const results = new LargeResults(relay, options);
  const pull = relayTools(relay).at(-1)!.name;
  return createMiddleware({
    name: 'ContextRelayLargeResults',
    tools: contextRelayTools(relay).filter(({ name }) => name === pull),
    async wrapToolCall(request, handler) {
      const result = await handler(request);
      if (!isToolMessage(result)) return result;
      const { signal, configurable } = request.runtime;
      const o = { signal, forever: isStoredElsewhere(configurable) };
      const content = await shown(result.content, (text) => results.shown(text, request.toolCall.name, o));
      return content === result.content ? result : withContent(result, content);
    },
  });
}

/** Whether messages go to a checkpointer other than ours, which does not see to it that the pointers in them live as long. */
function isStoredElsewhere(configurable: { readonly [name: string]: unknown } | undefined): boolean {
  const checkpointer = configurable?.__pregel_checkpointer as { keepsPointers?: boolean } | null | undefined;
  return typeof checkpointer === 'object' && checkpointer !== null && !checkpointer.keepsPointers;
}

type Content = ToolMessage['content'];

/** Texts are swapped one by one; images and the like stay. */
async function shown(content: Content, swap: (text: string) => Promise<string>): Promise<Content> {
  if (typeof content === 'string') return swap(content);
  let changed = false;
  const blocks = await Promise.all(
    content.map(async (block) => {
      if (block.type !== 'text' || typeof block.text !== 'string') return block;
      const text = await swap(block.text);
      changed ||= text !== block.text;
      return text === block.text ? block : { ...block, text };
    }),
  );
  return changed ? (blocks as Content) : content;
}

/** A message has more than its constructor takes back from `fields`: what is not named here would be lost. */
function withContent(message: ToolMessage, content: Content): ToolMessage {
  const { tool_call_id, name, id, status, artifact, metadata, additional_kwargs, response_metadata } =
    message;
  return new ToolMessage({
    content,
    tool_call_id,
    name,
    id,
    status,
    artifact,
    metadata,
    additional_kwargs,
    response_metadata,
  });
}
