import * as z from 'zod';
import { readBytes } from '../../../base/byte-streams.ts';
import { decodeUtf8 } from '../../../base/utf8.ts';
import { type Artifact, threads, unsearchedText } from '../../../contract/threads.ts';
import { frame } from '../../../text/frame.ts';
import { readPart } from '../../../text/parts/part-request.ts';
import { answerable, number, tellShown } from '../budget.ts';
import { type Answer, defineTool, type ToolCall } from '../tool.ts';
import { stateLink } from '../uris.ts';

const HITS = 10;

export const artifactPut = defineTool({
  name: 'artifact_put',
  description: 'Keep a text with a thread; others see its preview and read what they need.',
  input: z.object({ thread_id: z.string(), name: z.string().describe('report.md'), content: z.string() }),
  verb: threads.putArtifact,
  doing: 'storing the artifact',
  async run({ thread_id, name, content }, { relay }) {
    const body = new TextEncoder().encode(content);
    const { ref, type, size, state_ref } = await relay.threads.putArtifact(thread_id, { body, name });
    return { text: JSON.stringify({ ref, type, size, state_ref }), links: [stateLink(thread_id)] };
  },
});

export const artifactGet = defineTool({
  name: 'artifact_get',
  description: 'Read an artifact of a thread, or a part of it.',
  input: z.object({
    thread_id: z.string(),
    ref: z.string(),
    part: z.string().optional().describe('as in pull_context'),
  }),
  verb: threads.artifact,
  doing: 'reading the artifact',
  async run({ thread_id, ref, part }, call): Promise<Answer> {
    const artifact = await call.relay.threads.artifact(thread_id, ref, { counted: false });
    const asked = part ? readPart(part) : undefined;
    if (asked === undefined && artifact.tokens.content > call.context.budget) {
      const text = await tooLarge(artifact, call);
      await tellShown(call, thread_id, 'previews', text);
      return { text };
    }
    if (asked) {
      const o = { ...asked, max_tokens: call.context.budget };
      const { text, about, truncated } = await call.relay.threads.part(thread_id, ref, o);
      return { text: truncated ? `${text}\n[${about}]` : text };
    }
    if (asked === null && !call.context.local) answerable(artifact.size);
    const { body } = await call.relay.threads.content(thread_id, ref);
    return { text: decodeUtf8(await readBytes(body)) ?? `(${artifact.preview.text})` };
  },
});

export const artifactSearch = defineTool({
  name: 'artifact_search',
  description: 'Search the artifacts of a thread.',
  input: z.object({ thread_id: z.string(), query: z.string() }),
  verb: threads.search,
  doing: 'searching',
  async run({ thread_id, query }, call) {
    const answer = await call.relay.threads.search(thread_id, query, { limit: HITS, counted: false });
    const { hits, unsearched } = answer;
    const lines = hits.map(({ ref, name, line, snippet }) => JSON.stringify({ ref, name, line, snippet }));
    const found = lines.join('\n') || '(nothing found)';
    const text = unsearched ? `${found}\n(${unsearchedText(unsearched)})` : found;
    await tellShown(call, thread_id, 'searches', text);
    return { text };
  },
});

async function tooLarge(artifact: Artifact, { context }: ToolCall): Promise<string> {
  const { content, tokenizer, estimated } = artifact.tokens;
  const source = {
    what: `artifact ${artifact.ref} "${artifact.name}", preview`,
    by: artifact.provenance.created_by,
    at: Date.parse(artifact.created_at),
  };
  const price = `${estimated ? 'about ' : ''}${number(content)} tokens (${tokenizer})`;
  return [
    `Not read: ${number(artifact.size)} bytes, ${price}; the budget is ${number(context.budget)} tokens.`,
    await frame(artifact.preview.text, source, context.env.now(), context.frameSecret),
    'Read a part: artifact_get with part="outline", "lines=1-200", "grep=PATTERN" or "json=/path"; part="all" takes everything.',
  ].join('\n');
}
