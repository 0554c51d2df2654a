import * as z from 'zod';
import { badRequest, type RelayError } from '../../../base/errors.ts';
import { parsePointer } from '../../../contract/pointer-url.ts';
import { type Inspected, pointers } from '../../../contract/pointers.ts';
import { PEEK_TOOL, PULL_TOOL, PUSH_TOOL } from '../../../sdk/context-tools.ts';
import { isCiphertext } from '../../../sdk/encryption.ts';
import { parsePartText } from '../../../text/parts/part-request.ts';
import { checkAnswerSize, partWithinBudget, pullWithinBudget } from '../budget.ts';
import { type Answer, defineTool, parseUri, pointerLink, type ToolCall } from '../tool.ts';

const pushFields = {
  channel: z.string().optional().describe(PUSH_TOOL.input.channel),
  encrypted: z.boolean().default(false).describe(PUSH_TOOL.input.encrypted),
  summary: z.string().optional().describe(PUSH_TOOL.input.summary),
  ttl: z.number().optional().describe('seconds'),
  max_pulls: z.number().optional(),
};

export const POINTER_TOOLS = [
  defineTool({
    ...PUSH_TOOL,
    input: z.object({
      data: z.string().optional().describe(PUSH_TOOL.input.data),
      path: z.string().optional().describe('push this file instead of data'),
      ...pushFields,
    }),
    httpInput: z.object({ data: z.string().describe(PUSH_TOOL.input.data), ...pushFields }),
    verb: pointers.push,
    async run({ data, path, channel, encrypted, summary, ttl, max_pulls }, call) {
      const { client, context, signal, warn } = call;
      if ((data === undefined) === (path === undefined)) throw badRequest('Pass either "data" or "path".');
      if (encrypted && !context.local) throw stdioOnly('encrypted');
      if (encrypted && summary) await warn('The summary is not encrypted. Anyone with the URL can read it.');
      if (encrypted && channel && !(await client.hasChannelKey(channel)))
        await warn(`The channel ${channel} has no key, so its subscribers cannot decrypt this payload.`);
      const metadata = summary ? { summary } : undefined;
      const body = data ?? (await context.readFile!(path!, await call.roots()));
      const pushed = await client.pushDetailed(body, {
        channel: channel || undefined,
        encrypted,
        metadata,
        ttl,
        maxPulls: max_pulls,
        signal,
      });
      // A link to an encrypted payload would lack its key, so return none.
      return { text: pushed.url, links: encrypted ? [] : [pointerLink(pushed.id, summary)] };
    },
  }),
  defineTool({
    ...PEEK_TOOL,
    input: z.object({ url: z.string() }),
    verb: pointers.peek,
    async run({ url }, call) {
      const { client, signal } = call;
      const pointer = await resolvePointer(url, call);
      const found = await client.inspect(pointer, { signal });
      const encrypted = isCiphertext(found);
      const counts = found.text === true && !encrypted && (found.size ?? 0) <= COUNTED_BYTES;
      const count = () => client.cost(pointer, undefined, { signal }).catch(() => null);
      const tokens = found.tokens ?? (counts ? await count() : null);
      return { text: describePointer(found, tokens?.tokens ?? null, encrypted) };
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

/** Maximum size in bytes of a payload whose tokens a peek counts. */
const COUNTED_BYTES = 4 * 1024 * 1024;

/** Describes a pointer as JSON for a model, without fields that the relay does not report. */
function describePointer(found: Inspected, tokens: number | null, encrypted: boolean): string {
  const { size, content_type: type, expires_at, pulls_left = null, from, channel, metadata } = found;
  const about = { size, tokens, type, encrypted, expires_at, pulls_left, from, agent: found.agent, channel };
  const facts = Object.entries(about).filter(([, value]) => value !== null);
  return JSON.stringify({ ...Object.fromEntries(facts), metadata });
}

/** Resolves a pointer URL, a pointer id, or a resource link that a tool returned. */
function resolvePointer(url: string, call: ToolCall): Promise<string> {
  const named = parseUri(url.trim());
  const pointer = named?.kind === 'pointer' ? named.id : url.trim();
  // This throws if the text is no pointer: models must not fetch other URLs.
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
