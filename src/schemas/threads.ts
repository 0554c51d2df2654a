import { z } from 'zod';
import {
  ENVELOPE_TTL_MAX_S,
  PART_CHARS,
  PROMPT_PREVIEWS,
  SHOWN_TOKENS,
  THREAD_HOLD_S,
  THREAD_TTL_MAX_S,
} from '../base/limits.ts';
import { READ_KINDS } from '../contract/threads/tokens.ts';
import { threads } from '../contract/threads.ts';
import { BYTES, schemasFor } from './schema.ts';
import { searchHit, unsearched } from './search.ts';
import {
  count,
  json,
  jsonObject,
  limit,
  looseFlag,
  optionalText,
  page,
  partFields,
  ref,
  stateRef,
  text,
  threadId,
  time,
  tokenCount,
  version,
} from './shapes.ts';
import * as parts from './thread-parts.ts';

const one = { thread_id: threadId };
const key = { idempotency_key: optionalText };
const patched = z.object({ version: count, updated_at: time, state_ref: stateRef });
const next = { next: optionalText };
const counted = {
  counted: looseFlag.optional().describe('0: no model gets to see it, so the ledger is not told'),
};

export const threadSchemas = schemasFor(threads)({
  create: {
    input: z.object({
      name: optionalText,
      ttl: z
        .number()
        .meta({ minimum: 1, maximum: THREAD_TTL_MAX_S })
        .optional()
        .describe('seconds until it ends with everything in it; until it is deleted by default'),
    }),
    output: z.object({
      thread_id: threadId,
      name: text,
      state_ref: stateRef,
      created_at: time,
      expires_at: time.optional(),
    }),
  },
  list: {
    input: z.object({ ...page, prefix: z.string().optional().describe('only ids that begin so') }),
    output: z.object({ threads: z.array(parts.threadItem), ...next }),
  },
  get: { input: z.object(one), output: parts.threadInfo },
  delete: { input: z.object(one), output: z.null() },
  state: { input: z.object({ ...one, at: version('`v3`').optional(), ...counted }), output: parts.state },
  header: { input: z.object({ ...one, ...counted }), output: parts.header },
  patch: {
    input: z.object({
      ...one,
      ops: z.array(parts.anyOp).describe('the operations; they are the whole body'),
      if_match: version('refuse where the state is at another version than `v7`').optional(),
      ...key,
    }),
    output: patched,
    codes: ['bad_patch', 'patch_test_failed', 'state_invalid', 'state_too_large'],
  },
  revert: {
    input: z.object({
      ...one,
      to: z
        .union([text, z.number()], 'say which version, such as v3')
        .describe('the version to go back to, `v3`'),
      if_match: version('refuse where the state is at another version than `v7`').optional(),
      ...key,
    }),
    output: patched,
    codes: ['state_invalid', 'state_too_large'],
  },
  diff: {
    input: z.object({ ...one, from: version('`v3`'), to: version('`v7`').optional() }),
    output: z.object({ from: stateRef, to: stateRef, ops: z.array(parts.patchOp) }),
  },
  blame: {
    input: z.object({ ...one, at: version('`v3`; the newest by default').optional() }),
    output: z.object({ thread_id: threadId, version: count, lines: z.array(parts.blameLine) }),
  },
  compact: {
    input: z.object(one),
    output: z.object({
      version: count,
      state_ref: stateRef,
      dropped: z.object({ actions: count, artifacts: count }),
    }),
  },
  replay: {
    input: z.object(one),
    output: z.object({ version: count, events: count, sha256: text, matches: z.boolean() }),
  },
  events: {
    input: z.object({ ...one, ...page }),
    output: z.object({ events: z.array(parts.event), ...next }),
    content: ['text/event-stream'],
  },
  record: { input: z.object({ ...one, type: text, payload: jsonObject.optional() }), output: parts.event },
  send: {
    input: z.object({
      ...one,
      to_capability: text,
      type: optionalText,
      schema: optionalText,
      payload: json,
      note: optionalText,
      ttl: z
        .number()
        .meta({ minimum: 1, maximum: ENVELOPE_TTL_MAX_S })
        .optional()
        .describe('seconds; an hour by default'),
      ...key,
    }),
    output: parts.envelope,
    codes: ['too_many_hops'],
  },
  envelopes: {
    input: z.object({ ...one, to: optionalText, after: z.string().optional().describe('a msg_id') }),
    output: z.object({ envelopes: z.array(parts.envelope) }),
  },
  hold: {
    input: z.object({
      ...one,
      token: z.string().describe('made up by the holder; the same one again renews'),
      holder: z.string().describe('who it is, in words for others'),
      ttl: z
        .number()
        .meta({ minimum: 1, maximum: THREAD_HOLD_S })
        .describe('seconds after which it lapses unless it is renewed'),
      renew: z.boolean().optional().describe('only if it is this token’s still'),
      instead_of: z.string().optional().describe('take it from this holder, though it has not lapsed'),
    }),
    output: z.object({
      granted: z.boolean(),
      hold: z.object({ holder: text, since: time, until: time }).nullable(),
    }),
  },
  release: { input: z.object({ ...one, token: text }), output: z.null() },
  runs: {
    input: z.object({
      after: optionalText.describe('the `next` of the page before'),
      limit: limit(100),
      pipeline: optionalText,
    }),
    output: z.object({ runs: z.array(parts.runItem), ...next }),
  },
  run: { input: z.object(one), output: parts.pipelineRun },
  stats: { input: z.object(one), output: parts.stats },
  shown: {
    input: z.object({
      ...one,
      what: z.enum(READ_KINDS),
      tokens: z.number().int().min(0).max(SHOWN_TOKENS),
    }),
    output: z.null(),
  },
  totals: { input: z.object({}), output: parts.sumStats },
  export: { input: z.object(one), output: z.any(), content: ['application/zip'] },
  import: {
    input: z.object({}),
    output: z.object({
      thread_id: threadId,
      name: text,
      state_ref: stateRef,
      artifacts: count,
      events: count,
      damaged: z.array(ref).optional().describe('artifacts that came without their content'),
    }),
    codes: ['bad_bundle', 'legacy_export', 'conflict'],
  },
  putArtifact: {
    input: z.object({
      ...one,
      content: z.string().describe('text, or base64 where `encoding` says so'),
      encoding: z.enum(['utf8', 'base64']).optional(),
      name: z.string().nullish(),
      type: parts.artifactType.nullish().describe('guessed from name and media type by default'),
      mime: z.string().nullish(),
      source_refs: z.array(text).nullish(),
      ...key,
    }),
    output: parts.artifact.extend({ state_ref: stateRef }),
  },
  artifacts: {
    input: z.object({ ...one, ...page, ...counted }),
    output: z.object({ artifacts: z.array(parts.artifact), ...next }),
  },
  artifact: {
    input: z.object({
      ...one,
      ref,
      raw: looseFlag.optional(),
      ...counted,
    }),
    output: z.union([parts.artifact, z.any().describe('with raw=1, a content that is JSON')]),
    ...BYTES,
  },
  content: {
    input: z.object({ ...one, ref, ...counted }),
    output: z.any(),
    ...BYTES,
    codes: ['not_acceptable', ...BYTES.codes],
  },
  part: {
    input: z.object({
      ...one,
      ref,
      ...partFields,
      max_tokens: limit(PART_CHARS).describe('cut where it has more'),
      ...counted,
    }),
    output: z.object({ text, about: text, truncated: z.boolean(), tokens: tokenCount }),
  },
  deleteArtifact: { input: z.object({ ...one, ref }), output: parts.artifact },
  search: {
    input: z.object({
      ...one,
      q: z.string().min(1),
      limit: z.coerce.number().int().min(1).max(100).optional(),
      ...counted,
    }),
    output: z.object({
      hits: z.array(searchHit),
      unsearched: unsearched.optional().describe('what was not searched; absent where everything was'),
    }),
  },
  report: { input: z.object({ ...one, format: z.enum(['md', 'json']).optional() }), output: parts.report },
  render: {
    input: z.object({
      ...one,
      format: z.enum(['openai', 'anthropic']).optional(),
      words: text.optional().describe('what is asked: it comes last, and previews are chosen by it'),
      refs: z.array(ref).optional().describe('artifacts that are shown in any case, before all others'),
      previews: z.coerce.number().int().min(0).max(PROMPT_PREVIEWS).optional(),
      system: text.optional().describe('in place of the first paragraph of the system message'),
      dry: z
        .union([z.boolean(), looseFlag])
        .optional()
        .describe('only to look at: the ledger does not count it'),
    }),
    output: parts.rendered,
  },
});
