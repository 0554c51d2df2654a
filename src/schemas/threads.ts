import { z } from 'zod';
import { ENVELOPE_TTL_MAX_S, THREAD_HOLD_S } from '../base/limits.ts';
import { threads } from '../contract/threads.ts';
import { schemasFor } from './schema.ts';
import { count, flag, json, jsonObject, page, time, version } from './shapes.ts';
import {
  anyOp,
  artifact,
  artifactType,
  envelope,
  event,
  header,
  patchOp,
  ref,
  rendered,
  report,
  searchHit,
  state,
  stateRef,
  stats,
  sumStats,
  threadId,
  threadInfo,
  threadItem,
} from './thread-parts.ts';

const one = { thread_id: threadId };
const key = { idempotency_key: z.string().optional() };
const patched = z.object({ version: count, updated_at: time, state_ref: stateRef });
const next = { next: z.string().optional() };

export const threadSchemas = schemasFor(threads)({
  create: {
    input: z.object({ name: z.string().optional() }),
    output: z.object({ thread_id: threadId, name: z.string(), state_ref: stateRef, created_at: time }),
  },
  list: {
    input: z.object({ ...page, prefix: z.string().optional().describe('only ids that begin so') }),
    output: z.object({ threads: z.array(threadItem), ...next }),
  },
  get: { input: z.object(one), output: threadInfo },
  delete: { input: z.object(one), output: z.null() },
  state: { input: z.object({ ...one, at: version('`v3`').optional() }), output: state },
  header: { input: z.object(one), output: header },
  patch: {
    input: z.object({
      ...one,
      ops: z.array(anyOp).describe('the operations; they are the whole body'),
      if_match: version('refuse where the state is at another version than `v7`').optional(),
      ...key,
    }),
    output: patched,
  },
  revert: {
    input: z.object({
      ...one,
      to: z
        .union([z.string(), z.number()], 'say which version, such as v3')
        .describe('the version to go back to, `v3`'),
      if_match: version('refuse where the state is at another version than `v7`').optional(),
      ...key,
    }),
    output: patched,
  },
  diff: {
    input: z.object({ ...one, from: version('`v3`'), to: version('`v7`').optional() }),
    output: z.object({ from: stateRef, to: stateRef, ops: z.array(patchOp) }),
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
    output: z.object({ version: count, events: count, sha256: z.string(), matches: z.boolean() }),
  },
  events: {
    input: z.object({ ...one, ...page }),
    output: z.object({ events: z.array(event), ...next }),
  },
  record: {
    input: z.object({ ...one, type: z.string(), payload: jsonObject.optional() }),
    output: event,
  },
  send: {
    input: z.object({
      ...one,
      to_capability: z.string(),
      type: z.string().optional(),
      schema: z.string().optional(),
      payload: json,
      note: z.string().optional(),
      ttl: z
        .number()
        .meta({ minimum: 1, maximum: ENVELOPE_TTL_MAX_S })
        .optional()
        .describe('seconds; an hour by default'),
      ...key,
    }),
    output: envelope,
  },
  envelopes: {
    input: z.object({ ...one, to: z.string().optional(), after: z.string().optional().describe('a msg_id') }),
    output: z.object({ envelopes: z.array(envelope) }),
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
      hold: z.object({ holder: z.string(), since: time, until: time }).nullable(),
    }),
  },
  release: { input: z.object({ ...one, token: z.string() }), output: z.null() },
  stats: { input: z.object(one), output: stats },
  totals: { input: z.object({}), output: sumStats },
  export: { input: z.object(one), output: z.any() },
  import: {
    input: z.object({}),
    output: z.object({
      thread_id: threadId,
      name: z.string(),
      state_ref: stateRef,
      artifacts: count,
      events: count,
    }),
  },
  putArtifact: {
    input: z.object({
      ...one,
      content: z.string().describe('text, or base64 where `encoding` says so'),
      encoding: z.enum(['utf8', 'base64']).optional(),
      name: z.string().optional(),
      type: artifactType.optional().describe('guessed from name and media type by default'),
      mime: z.string().optional(),
      source_refs: z.array(z.string()).optional(),
      ...key,
    }),
    output: artifact.extend({ state_ref: stateRef }),
  },
  artifacts: {
    input: z.object({ ...one, ...page }),
    output: z.object({ artifacts: z.array(artifact), ...next }),
  },
  artifact: {
    input: z.object({
      ...one,
      ref,
      raw: flag.optional(),
      counted: flag.optional().describe('0: no model gets to see it, so the ledger is not told'),
    }),
    output: artifact,
  },
  content: { input: z.object({ ...one, ref }), output: z.any() },
  search: {
    input: z.object({
      ...one,
      q: z.string().min(1),
      limit: z.coerce.number().int().min(1).max(100).optional(),
    }),
    output: z.object({ hits: z.array(searchHit) }),
  },
  report: { input: z.object({ ...one, format: z.enum(['md', 'json']).optional() }), output: report },
  render: {
    input: z.object({ ...one, format: z.enum(['openai', 'anthropic']).optional() }),
    output: rendered,
  },
});
