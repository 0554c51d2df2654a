import * as z from 'zod';
import { RelayError } from '../../../base/errors.ts';
import { parsePointer } from '../../../contract/pointer-url.ts';
import { pointers } from '../../../contract/pointers.ts';
import { answerable, partWithinBudget, pullWithinBudget, readPart } from '../budget.ts';
import { type Answer, defineTool, type ToolCall } from '../tool.ts';
import { pointerLink, readUri } from '../uris.ts';

export const pushContext = defineTool({
  name: 'push_context',
  description:
    'Store a large text and get a short URL to hand to another agent instead of the text. Valid 24 hours; whoever has the URL can read it, on a relay with keys only your tenant.',
  input: z.object({
    data: z.string().describe('up to 25 MB'),
    channel: z.string().optional().describe('announce it there'),
    encrypted: z.boolean().default(false).describe('for secrets; keep the #key= of the URL'),
    summary: z.string().optional().describe('one line for peek_context'),
  }),
  verb: pointers.push,
  doing: 'pushing context',
  async run({ data, channel, encrypted, summary }, { client, context, signal, warn }) {
    if (encrypted && !context.local) throw onlyAtThisEnd('encrypted');
    if (encrypted && summary) await warn('The summary is not encrypted: everybody can read it.');
    if (encrypted && channel && !(await client.hasChannelKey(channel)))
      await warn(
        `There is no key for the channel ${channel}: its subscribers cannot read what is encrypted.`,
      );
    const metadata = summary ? { summary } : undefined;
    const pushed = await client.pushDetailed(data, {
      channel: channel || undefined,
      encrypted,
      metadata,
      signal,
    });
    // A link to ciphertext, without its key, would be of use to nobody.
    return { text: pushed.url, links: encrypted ? [] : [pointerLink(pushed.id, summary)] };
  },
});

export const peekContext = defineTool({
  name: 'peek_context',
  description: 'Read what a relay URL is about without pulling it. Use this first.',
  input: z.object({ url: z.string() }),
  verb: pointers.peek,
  doing: 'peeking context',
  async run({ url }, call) {
    const metadata = await call.client.peek(await resolved(url, call), { signal: call.signal });
    const empty = Object.keys(metadata).length === 0;
    return { text: empty ? '(no metadata available)' : JSON.stringify(metadata, null, 2) };
  },
});

export const pullContext = defineTool({
  name: 'pull_context',
  description: 'Read the text behind a relay URL, or a part. Very large texts answer with their price first.',
  input: z.object({
    url: z.string(),
    part: z.string().optional().describe('outline, lines=10-40, grep=REGEX, json=/a/b, or all'),
  }),
  verb: pointers.pull,
  doing: 'pulling context',
  async run({ url, part }, call): Promise<Answer> {
    const pointer = await resolved(url, call);
    if (!part) return pullWithinBudget(pointer, call);
    const asked = readPart(part);
    if (asked) return partWithinBudget(pointer, asked, call);
    if (!call.context.local)
      answerable((await call.client.inspect(pointer, { signal: call.signal })).size ?? 0);
    return { text: await call.client.pull(pointer, undefined, { signal: call.signal }) };
  },
});

/** Takes a pointer's URL, its id, or the link that a tool answered with. */
function resolved(url: string, call: ToolCall): Promise<string> {
  const named = readUri(url.trim());
  const pointer = named?.kind === 'pointer' ? named.id : url.trim();
  // A model is given pointers to read, and not the whole web.
  const { key } = parsePointer(pointer);
  if (!call.context.local && key !== null) throw onlyAtThisEnd('#key=');
  return call.resolve(pointer);
}

function onlyAtThisEnd(what: string): RelayError {
  return new RelayError('bad_request', {
    what: `Over HTTP ${what} is refused: the key would reach the server.`,
    hint: 'Use the stdio server (relay mcp), which encrypts and decrypts on your machine.',
  });
}
