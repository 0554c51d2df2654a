import { z } from 'zod';
import { defineOperation } from './operation.ts';
import { artifact, artifactType, page, ref, searchHit, stateRef, threadId } from './thread-shapes.ts';

const one = { thread_id: threadId };

/** Bytes travel in and out of these, so the HTTP interface handles them itself; `run` is never reached. */
const bytesTravel = () => Promise.reject(new Error('handled by the HTTP interface'));

export const artifactOperations = [
  defineOperation({
    name: 'artifacts.put',
    summary: 'Store content in a thread: as JSON, as a form with a file, or as the raw body',
    scope: 'threads',
    input: z.object({
      ...one,
      content: z.string().describe('text, or base64 where `encoding` says so'),
      encoding: z.enum(['utf8', 'base64']).optional(),
      name: z.string().optional(),
      type: artifactType.optional().describe('told from name and media type unless given'),
      mime: z.string().optional(),
      source_refs: z.array(z.string()).optional(),
      idempotency_key: z.string().optional(),
    }),
    output: artifact.extend({ state_ref: stateRef }),
    http: {
      method: 'POST',
      path: '/threads/:thread_id/artifacts',
      status: 201,
      headers: { idempotency_key: 'Idempotency-Key' },
      custom: true,
    },
    run: bytesTravel,
  }),
  defineOperation({
    name: 'artifacts.list',
    summary: 'The artifacts of a thread, newest first',
    scope: 'threads',
    input: z.object({ ...one, ...page }),
    output: z.object({ artifacts: z.array(artifact), next: z.string().optional() }),
    http: { method: 'GET', path: '/threads/:thread_id/artifacts' },
    run: async (relay, { thread_id, ...o }) => (await relay.threads.artifacts(thread_id, o)) as never,
  }),
  defineOperation({
    name: 'artifacts.get',
    summary: 'An artifact without its content: preview, hash, provenance; with raw=1 the bytes',
    scope: 'threads',
    input: z.object({
      ...one,
      ref,
      raw: z.enum(['0', '1']).optional(),
      counted: z
        .enum(['0', '1'])
        .optional()
        .describe('0: no model gets to see it, so the ledger is not told'),
    }),
    output: artifact,
    http: { method: 'GET', path: '/threads/:thread_id/artifacts/:ref', custom: true },
    run: async (relay, { thread_id, ref: which }) =>
      (await relay.threads.artifact(thread_id, which)) as never,
  }),
  defineOperation({
    name: 'artifacts.content',
    summary: 'The content of an artifact, whole or a byte range',
    scope: 'threads',
    input: z.object({ ...one, ref }),
    output: z.any(),
    http: { method: 'GET', path: '/threads/:thread_id/artifacts/:ref/content', custom: true },
    run: bytesTravel,
  }),
  defineOperation({
    name: 'artifacts.search',
    summary: 'Find artifacts by their words, best first, with snippets',
    scope: 'threads',
    input: z.object({
      ...one,
      q: z.string().min(1),
      limit: z.coerce.number().int().min(1).max(100).optional(),
    }),
    output: z.object({ hits: z.array(searchHit) }),
    http: { method: 'GET', path: '/threads/:thread_id/search' },
    run: (relay, { thread_id, q, limit }) => relay.threads.search(thread_id, q, { limit }),
  }),
];
