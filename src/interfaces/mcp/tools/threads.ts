import * as z from 'zod';
import { readBytes } from '../../../base/byte-streams.ts';
import { badRequest } from '../../../base/errors.ts';
import { VIEW_TOKENS, VIEW_TOKENS_MIN } from '../../../base/limits.ts';
import { decodeUtf8 } from '../../../base/utf8.ts';
import type { Artifact } from '../../../contract/threads.ts';
import { threads, unsearchedText } from '../../../contract/threads.ts';
import { stateView, VIEW_LISTS } from '../../../domain/threads/state-view.ts';
import type { PatchOp } from '../../../formats/json-patch/apply.ts';
import { frame } from '../../../text/frame.ts';
import { parsePartText } from '../../../text/parts/part-request.ts';
import { checkAnswerSize, formatNumber, recordShown } from '../budget.ts';
import { type Answer, defineTool, stateLink, type ToolCall } from '../tool.ts';

const HITS = 10;

const THREAD_HINTS = {
  not_found: 'Check thread_id. thread_patch without thread_id starts a new thread.',
};
const ARTIFACT_HINTS = {
  not_found: 'Check thread_id and ref. thread_header lists the artifacts of a thread.',
};

export const THREAD_TOOLS = [
  defineTool({
    name: 'thread_header',
    description: 'Read a summary of a thread: facts, constraints, questions, next steps, artifacts.',
    input: z.object({
      thread_id: z.string(),
      list: z.enum(VIEW_LISTS).optional().describe('show only this list, with more items'),
      question: z.string().optional().describe('prefer items that match it'),
      tokens: z.number().int().min(VIEW_TOKENS_MIN).optional().describe('limit'),
    }),
    verb: threads.header,
    doing: 'reading the thread',
    hints: THREAD_HINTS,
    async run({ thread_id, list, question, tokens }, call) {
      const { budget } = call.context;
      const state = await call.relay.threads.state(thread_id, { counted: false });
      const view = await stateView(state, call.context.texts, {
        ...(list ? { lists: [list] } : {}),
        question,
        tokens: Math.min(tokens ?? (list ? budget : VIEW_TOKENS), budget),
        more: (lists) => `Read them with thread_header and list="${lists.join('" or "')}".`,
      });
      const text = `v${state.version}\n${view.text}`;
      await recordShown(call, thread_id, 'headers', text);
      return { text, links: [stateLink(thread_id)] };
    },
  }),
  defineTool({
    name: 'thread_patch',
    description:
      'Change the state of a thread with a JSON Patch, all or nothing. Lists: /facts {id,key,value}, /constraints {id,description}, /open_questions {id,question}, /decisions {id,description}, /plan {id,step,status}. Append with path /facts/-.',
    input: z.object({
      ops: z.array(z.looseObject({ op: z.string(), path: z.string() })),
      thread_id: z.string().optional().describe('omit to start a new thread'),
      version: z.string().optional().describe('fail if the thread is no longer at this version, such as v7'),
    }),
    verb: threads.patch,
    doing: 'changing the thread',
    hints: THREAD_HINTS,
    async run({ ops, thread_id, version }, { relay }) {
      if (ops.length === 0) throw badRequest('"ops" is empty.');
      const id = thread_id ?? (await relay.threads.create()).thread_id;
      const patched = await relay.threads.patch(id, { ops: ops as unknown as PatchOp[], if_match: version });
      return { text: JSON.stringify({ thread_id: id, ...patched }), links: [stateLink(id)] };
    },
  }),
  defineTool({
    name: 'artifact_put',
    description: 'Store a text in a thread. Returns its ref. Others see a preview and can read parts.',
    input: z.object({ thread_id: z.string(), name: z.string().describe('report.md'), content: z.string() }),
    verb: threads.putArtifact,
    doing: 'storing the artifact',
    hints: THREAD_HINTS,
    async run({ thread_id, name, content }, { relay }) {
      const body = new TextEncoder().encode(content);
      const { ref, type, size, state_ref } = await relay.threads.putArtifact(thread_id, { body, name });
      return { text: JSON.stringify({ ref, type, size, state_ref }), links: [stateLink(thread_id)] };
    },
  }),
  defineTool({
    name: 'artifact_get',
    description: 'Read an artifact of a thread, or a part of it.',
    input: z.object({
      thread_id: z.string(),
      ref: z.string(),
      part: z.string().optional().describe('as in pull_context'),
    }),
    verb: threads.artifact,
    doing: 'reading the artifact',
    hints: ARTIFACT_HINTS,
    async run({ thread_id, ref, part }, call): Promise<Answer> {
      const artifact = await call.relay.threads.artifact(thread_id, ref, { counted: false });
      const partRequest = part ? parsePartText(part) : undefined;
      if (partRequest === undefined && artifact.tokens.content > call.context.budget) {
        const text = await tooLarge(artifact, call);
        await recordShown(call, thread_id, 'previews', text);
        return { text };
      }
      if (partRequest) {
        const o = { ...partRequest, max_tokens: call.context.budget };
        const { text, about, truncated } = await call.relay.threads.part(thread_id, ref, o);
        return { text: truncated ? `${text}\n[${about}]` : text || about };
      }
      if (partRequest === null && !call.context.local) checkAnswerSize(artifact.size);
      const { body } = await call.relay.threads.content(thread_id, ref);
      return { text: decodeUtf8(await readBytes(body)) ?? `(${artifact.preview.text})` };
    },
  }),
  defineTool({
    name: 'artifact_search',
    description: 'Search the artifacts and the state of a thread.',
    input: z.object({ thread_id: z.string(), query: z.string() }),
    verb: threads.search,
    doing: 'searching',
    hints: THREAD_HINTS,
    async run({ thread_id, query }, call) {
      const answer = await call.relay.threads.search(thread_id, query, { limit: HITS, counted: false });
      const { hits, state = [], unsearched } = answer;
      const lines = [
        ...state,
        ...hits.map(({ ref, name, line, snippet }) => ({ ref, name, line, snippet })),
      ].map((hit) => JSON.stringify(hit));
      const found = lines.join('\n') || '(nothing found)';
      const text = unsearched ? `${found}\n(${unsearchedText(unsearched)})` : found;
      await recordShown(call, thread_id, 'searches', text);
      return { text };
    },
  }),
];

async function tooLarge(artifact: Artifact, { context }: ToolCall): Promise<string> {
  const { content, tokenizer, estimated } = artifact.tokens;
  const source = {
    what: `artifact ${artifact.ref} "${artifact.name}", preview`,
    by: artifact.provenance.created_by,
    at: Date.parse(artifact.created_at),
  };
  const price = `${estimated ? 'about ' : ''}${formatNumber(content)} tokens (${tokenizer})`;
  return [
    `Not read: ${formatNumber(artifact.size)} bytes, ${price}; the budget is ${formatNumber(context.budget)} tokens.`,
    await frame(artifact.preview.text, source, context.env.now(), context.frameSecret),
    'Read a part: artifact_get with part="outline", "lines=1-200", "grep=PATTERN" or "json=/path"; part="all" takes everything.',
  ].join('\n');
}
