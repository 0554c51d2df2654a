import { z } from 'zod';
import { MAX_PULLS, MAX_TTL_MS } from '../base/limits.ts';
import { defineOperation } from './operation.ts';
import { channelName, jsonObject, pointerId, tokenCount } from './shapes.ts';

const part = {
  lines: z.string().optional().describe('`10-40`, `10-`, `-20` (the last 20) or `7`'),
  grep: z
    .string()
    .optional()
    .describe('a regular expression (RE2 syntax); answers matching lines with their numbers'),
  context: z.coerce.number().int().min(0).optional().describe('lines around each match'),
  ignore_case: z.enum(['0', '1']).optional(),
  json: z.string().optional().describe('a JSON Pointer (RFC 6901) into a JSON payload'),
  outline: z.enum(['0', '1']).optional().describe('headings, definitions or the shape, with line numbers'),
};

export const pushed = z.object({
  url: z.url(),
  id: pointerId,
  channel: z.string().nullable(),
  expires_at: z.iso.datetime(),
  size: z.number().int(),
  tokens: tokenCount.optional(),
});

export const pushFields = z.object({
  data: z.string().describe('the payload; any other content type sends it as the raw body'),
  channel: channelName.optional(),
  metadata: jsonObject.optional(),
  ttl: z
    .number()
    .min(1)
    .max(MAX_TTL_MS / 1000)
    .optional()
    .describe('seconds; 24 hours unless told'),
  max_pulls: z.number().int().min(1).max(MAX_PULLS).optional(),
  visibility: z.enum(['link', 'tenant']).optional(),
});

/** Bytes travel in and out of these, so the HTTP interface handles them itself; `run` is never reached. */
const bytesTravel = () => Promise.reject(new Error('handled by the HTTP interface'));

export const pointerOperations = [
  defineOperation({
    name: 'pointers.push',
    summary: 'Store a payload and get a pointer to it',
    scope: 'push',
    input: pushFields.extend({
      idempotency_key: z.string().optional(),
      count: z.enum(['0', '1']).optional().describe('count the tokens too'),
    }),
    output: pushed,
    http: {
      method: 'POST',
      path: '/push',
      headers: { idempotency_key: 'Idempotency-Key' },
      query: ['count'],
      raw: ['channel', 'ttl', 'max_pulls', 'visibility'],
      custom: true,
    },
    run: bytesTravel,
  }),
  defineOperation({
    name: 'pointers.pull',
    summary: 'Get a payload back, or only a part of it',
    scope: 'pull',
    byLink: true,
    input: z.object({
      id: pointerId,
      raw: z.enum(['0', '1']).optional().describe('the bytes instead of the {data, metadata} envelope'),
      ...part,
      cost: z.enum(['0', '1']).optional().describe('the token price instead of the content'),
    }),
    output: z.object({ data: z.string(), metadata: jsonObject, encoding: z.literal('base64').optional() }),
    http: { method: 'GET', path: '/pull/:id', custom: true },
    run: bytesTravel,
  }),
  defineOperation({
    name: 'pointers.peek',
    summary: 'The metadata alone; size, expiry and tokens are in Relay-* headers',
    scope: 'pull',
    byLink: true,
    input: z.object({ id: pointerId }),
    output: jsonObject,
    http: { method: 'GET', path: '/peek/:id', custom: true },
    run: async (relay, { id }) => (await relay.pointers.peek(id)).metadata,
  }),
  defineOperation({
    name: 'pointers.delete',
    summary: 'Revoke a pointer at once',
    scope: 'push',
    input: z.object({ id: pointerId }),
    output: z.null(),
    http: { method: 'DELETE', path: '/pull/:id', status: 204 },
    run: async (relay, { id }) => {
      await relay.pointers.delete(id);
      return null;
    },
  }),
];
