import * as z from 'zod';
import { badRequest, type RelayError } from '../../../base/errors.ts';
import { parsePointer } from '../../../contract/pointer-url.ts';
import { pointers } from '../../../contract/pointers.ts';
import { PEEK_TOOL, PULL_TOOL, PUSH_TOOL, peekText } from '../../../sdk/context-tools.ts';
import { parsePartText } from '../../../text/parts/part-request.ts';
import { checkAnswerSize, partWithinBudget, pullWithinBudget } from '../budget.ts';
import { type Answer, defineTool, parseUri, pointerLink, type ToolCall } from '../tool.ts';

export const POINTER_TOOLS = [
  defineTool({
    ...PUSH_TOOL,
    input: z.object({
      data: z.string().describe(PUSH_TOOL.input.data),
      channel: z.string().optional().describe(PUSH_TOOL.input.channel),
      encrypted: z.boolean().default(false).describe(PUSH_TOOL.input.encrypted),
      summary: z.string().optional().describe(PUSH_TOOL.input.summary),
    }),
    verb: pointers.push,
    async run({ data, channel, encrypted, summary }, { client, context, signal, warn }) {
      if (encrypted && !context.local) throw stdioOnly('encrypted');
      if (encrypted && summary) await warn('The summary is not encrypted. Anyone with the URL can read it.');
      if (encrypted && channel && !(await client.hasChannelKey(channel)))
        await warn(`The channel ${channel} has no key, so its subscribers cannot decrypt this payload.`);
      const metadata = summary ? { summary } : undefined;
      const pushed = await client.pushDetailed(data, {
        channel: channel || undefined,
        encrypted,
        metadata,
        signal,
      });
      // Return no link for an encrypted payload, because the link would not contain the encryption key.
      return { text: pushed.url, links: encrypted ? [] : [pointerLink(pushed.id, summary)] };
    },
  }),
  defineTool({
    ...PEEK_TOOL,
    input: z.object({ url: z.string() }),
    verb: pointers.peek,
    async run({ url }, call) {
      const metadata = await call.client.peek(await resolvePointer(url, call), { signal: call.signal });
      return { text: peekText(metadata) };
    },
  }),
  defineTool({
    ...PULL_TOOL,
    input: z.object({
      url: z.string(),
      part: z.string().optional().describe(PULL_TOOL.input.part),
    }),
    verb: pointers.pull,
    async run({ url, part }, call): Promise<Answer> {
      const pointer = await resolvePointer(url, call);
      if (!part) return pullWithinBudget(pointer, call);
      const partRequest = parsePartText(part);
      if (partRequest) return partWithinBudget(pointer, partRequest, call);
      if (!call.context.local)
        checkAnswerSize((await call.client.inspect(pointer, { signal: call.signal })).size ?? 0);
      return { text: await call.client.pull(pointer, undefined, { signal: call.signal }) };
    },
  }),
];

/** Resolves a pointer URL, a pointer id, or a resource link from the answer of a tool. */
function resolvePointer(url: string, call: ToolCall): Promise<string> {
  const named = parseUri(url.trim());
  const pointer = named?.kind === 'pointer' ? named.id : url.trim();
  // Throws if the text is not a pointer. Models must not fetch other URLs with this tool.
  const { key } = parsePointer(pointer);
  if (!call.context.local && key !== null) throw stdioOnly('#key=');
  return call.resolve(pointer);
}

function stdioOnly(what: string): RelayError {
  return badRequest(
    `${what} is not allowed over HTTP: the server would see the key.`,
    'Use the stdio server (relay mcp), which encrypts and decrypts on your machine.',
  );
}
