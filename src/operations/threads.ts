import { z } from 'zod';
import type { PatchOp } from '../base/json-patch/apply.ts';
import { defineOperation } from './operation.ts';
import { jsonObject } from './shapes.ts';
import {
  envelope,
  event,
  header,
  page,
  patchOp,
  state,
  stateRef,
  stats,
  sumStats,
  threadId,
  threadInfo,
  threadItem,
  time,
} from './thread-shapes.ts';

const one = { thread_id: threadId };
const key = { idempotency_key: z.string().optional() };
const idempotent = { idempotency_key: 'Idempotency-Key' };
const count = z.number().int();

/** A connection stays open, or bytes travel: the HTTP interface handles it itself, and `run` is never reached. */
const elsewhere = () => Promise.reject(new Error('handled by the HTTP interface'));

export const threadOperations = [
  defineOperation({
    name: 'threads.create',
    summary: 'Begin a thread',
    scope: 'threads',
    input: z.object({ name: z.string().optional() }),
    output: z.object({ thread_id: threadId, name: z.string(), state_ref: stateRef, created_at: time }),
    http: { method: 'POST', path: '/threads', status: 201 },
    run: (relay, input) => relay.threads.create(input),
  }),
  defineOperation({
    name: 'threads.list',
    summary: 'The threads there are, newest first',
    scope: 'threads',
    input: z.object({ ...page, prefix: z.string().optional().describe('only ids that begin so') }),
    output: z.object({ threads: z.array(threadItem), next: z.string().optional() }),
    http: { method: 'GET', path: '/threads' },
    run: (relay, input) => relay.threads.list(input),
  }),
  defineOperation({
    name: 'threads.get',
    summary: 'A thread in numbers',
    scope: 'threads',
    input: z.object(one),
    output: threadInfo,
    http: { method: 'GET', path: '/threads/:thread_id' },
    run: (relay, { thread_id }) => relay.threads.get(thread_id),
  }),
  defineOperation({
    name: 'threads.delete',
    summary: 'Delete a thread with everything in it',
    scope: 'threads',
    input: z.object(one),
    output: z.null(),
    http: { method: 'DELETE', path: '/threads/:thread_id', status: 204 },
    run: async (relay, { thread_id }) => {
      await relay.threads.delete(thread_id);
      return null;
    },
  }),
  defineOperation({
    name: 'threads.state',
    summary: 'The whole memory of a thread, as it is or at any version',
    scope: 'threads',
    input: z.object({ ...one, at: z.string().optional().describe('`v3`') }),
    output: state,
    http: { method: 'GET', path: '/threads/:thread_id/state' },
    run: async (relay, { thread_id, at }) => ({ ...(await relay.threads.state(thread_id, { at })) }) as never,
  }),
  defineOperation({
    name: 'threads.header',
    summary: 'The bounded view of the state that goes into a prompt',
    scope: 'threads',
    input: z.object(one),
    output: header,
    http: { method: 'GET', path: '/threads/:thread_id/state/header' },
    run: async (relay, { thread_id }) => (await relay.threads.header(thread_id)) as never,
  }),
  defineOperation({
    name: 'threads.patch',
    summary: 'Change the state by JSON Patch (RFC 6902), whole or not at all',
    scope: 'threads',
    input: z.object({
      ...one,
      // The domain says which operation is wrong, and where.
      ops: z.array(z.unknown()).describe('the operations; they are the whole body'),
      if_match: z.string().optional().describe('refuse where the state is at another version than `v7`'),
      ...key,
    }),
    output: z.object({ version: count, updated_at: time, state_ref: stateRef }),
    http: {
      method: 'POST',
      path: '/threads/:thread_id/state/patch',
      body: 'ops',
      headers: { if_match: 'If-Match', ...idempotent },
    },
    run: (relay, { thread_id, ops, ...o }) => relay.threads.patch(thread_id, { ops: ops as PatchOp[], ...o }),
  }),
  defineOperation({
    name: 'threads.diff',
    summary: 'What changed between two versions, as JSON Patch',
    scope: 'threads',
    input: z.object({
      ...one,
      from: z.string().describe('`v3`'),
      to: z.string().optional().describe('`v7`'),
    }),
    output: z.object({ from: stateRef, to: stateRef, ops: z.array(patchOp) }),
    http: { method: 'GET', path: '/threads/:thread_id/state/diff' },
    run: async (relay, { thread_id, from, to }) =>
      (await relay.threads.diff(thread_id, { from, to })) as never,
  }),
  defineOperation({
    name: 'threads.compact',
    summary: 'Shorten a state that has grown long; earlier versions stay',
    scope: 'threads',
    input: z.object(one),
    output: z.object({
      version: count,
      state_ref: stateRef,
      dropped: z.object({ actions: count, artifacts: count }),
    }),
    http: { method: 'POST', path: '/threads/:thread_id/state/compact' },
    run: (relay, { thread_id }) => relay.threads.compact(thread_id),
  }),
  defineOperation({
    name: 'threads.replay',
    summary: 'Fold the whole log again and compare',
    scope: 'threads',
    input: z.object(one),
    output: z.object({ version: count, events: count, sha256: z.string(), matches: z.boolean() }),
    http: { method: 'POST', path: '/threads/:thread_id/replay' },
    run: (relay, { thread_id }) => relay.threads.replay(thread_id),
  }),
  defineOperation({
    name: 'threads.events',
    summary: 'What happened in a thread, oldest first; with Accept: text/event-stream, as it happens',
    scope: 'threads',
    input: z.object({ ...one, ...page }),
    output: z.object({ events: z.array(event), next: z.string().optional() }),
    http: { method: 'GET', path: '/threads/:thread_id/events', custom: true },
    run: (relay, { thread_id, ...o }) => relay.threads.events(thread_id, o),
  }),
  defineOperation({
    name: 'threads.record',
    summary: 'Append an event of your own kind',
    scope: 'threads',
    input: z.object({ ...one, type: z.string(), payload: jsonObject.optional() }),
    output: event,
    http: { method: 'POST', path: '/threads/:thread_id/events', status: 201 },
    run: (relay, { thread_id, type, payload = {} }) => relay.threads.record(thread_id, type, payload),
  }),
  defineOperation({
    name: 'threads.send',
    summary: 'Send an envelope to a capability',
    scope: 'threads',
    input: z.object({
      ...one,
      to_capability: z.string(),
      type: z.string().optional(),
      schema: z.string().optional(),
      payload: z.json(),
      note: z.string().optional(),
      ttl: z.number().optional().describe('seconds; an hour unless told'),
      ...key,
    }),
    output: envelope,
    http: { method: 'POST', path: '/threads/:thread_id/envelopes', status: 201, headers: idempotent },
    run: (relay, { thread_id, ...input }) => relay.threads.send(thread_id, input),
  }),
  defineOperation({
    name: 'threads.envelopes',
    summary: 'The envelopes that are still worth reading',
    scope: 'threads',
    input: z.object({ ...one, to: z.string().optional(), after: z.string().optional().describe('a msg_id') }),
    output: z.object({ envelopes: z.array(envelope) }),
    http: { method: 'GET', path: '/threads/:thread_id/envelopes' },
    run: (relay, { thread_id, ...o }) => relay.threads.envelopes(thread_id, o),
  }),
  defineOperation({
    name: 'threads.hold',
    summary: 'Hold a thread for work that must not be done twice at once, or renew the hold',
    scope: 'threads',
    input: z.object({
      ...one,
      token: z.string().describe('made up by the holder; the same one again renews'),
      holder: z.string().describe('who it is, in words for others'),
      ttl: z.number().describe('seconds after which it lapses unless it is renewed'),
      renew: z.boolean().optional().describe('only if it is this token’s still'),
      instead_of: z.string().optional().describe('take it from this holder, though it has not lapsed'),
    }),
    output: z.object({
      granted: z.boolean(),
      hold: z.object({ holder: z.string(), since: time, until: time }).nullable(),
    }),
    http: { method: 'POST', path: '/threads/:thread_id/hold' },
    run: (relay, { thread_id, ...o }) => relay.threads.hold(thread_id, o),
  }),
  defineOperation({
    name: 'threads.release',
    summary: 'Let go of a thread that is held',
    scope: 'threads',
    input: z.object({ ...one, token: z.string() }),
    output: z.null(),
    http: { method: 'DELETE', path: '/threads/:thread_id/hold', status: 204 },
    run: async (relay, { thread_id, token }) => {
      await relay.threads.release(thread_id, { token });
      return null;
    },
  }),
  defineOperation({
    name: 'threads.stats',
    summary: 'What a thread has saved in tokens, counted',
    scope: 'threads',
    input: z.object(one),
    output: stats,
    http: { method: 'GET', path: '/threads/:thread_id/stats' },
    run: (relay, { thread_id }) => relay.threads.stats(thread_id),
  }),
  defineOperation({
    name: 'threads.totals',
    summary: 'The same over all threads',
    scope: 'threads',
    input: z.object({}),
    output: sumStats,
    http: { method: 'GET', path: '/stats' },
    run: (relay) => relay.threads.totals(),
  }),
  defineOperation({
    name: 'threads.export',
    summary: 'The whole thread as a ZIP bundle',
    scope: 'threads',
    input: z.object(one),
    output: z.any(),
    http: { method: 'GET', path: '/threads/:thread_id/export', custom: true },
    run: elsewhere,
  }),
  defineOperation({
    name: 'threads.import',
    summary: 'Take in a ZIP bundle, which is the body',
    scope: 'threads',
    input: z.object({}),
    output: z.object({
      thread_id: threadId,
      name: z.string(),
      state_ref: stateRef,
      artifacts: count,
      events: count,
    }),
    http: { method: 'POST', path: '/threads/import', status: 201, custom: true },
    run: elsewhere,
  }),
];
