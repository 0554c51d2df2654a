import { z } from 'zod';
import { MAX_PULLS, MAX_TTL_MS, RENEWED_POINTERS } from '../base/limits.ts';
import { pointers } from '../contract/pointers.ts';
import { BYTES, schemasFor } from './schema.ts';
import {
  channelName,
  count,
  jsonObject,
  limit,
  looseFlag,
  nullableText,
  optionalText,
  partFields,
  pointerId,
  text,
  time,
  tokenCount,
} from './shapes.ts';

const pushed = z.object({
  url: z.url(),
  id: pointerId,
  channel: nullableText,
  expires_at: time,
  size: count,
  tokens: tokenCount.optional(),
  visibility: z
    .literal('tenant')
    .optional()
    .describe('only where the URL alone is not enough: by default on a relay with keys'),
});

/** In JSON, older clients send null for an option that they leave out, and an empty channel. */
const pushFields = z.object({
  data: z.string().describe('the payload; any other content type sends it as the raw body'),
  channel: channelName.or(z.literal('')).nullish(),
  metadata: jsonObject.nullish(),
  ttl: z
    .number()
    .min(1)
    .max(MAX_TTL_MS / 1000)
    .nullish()
    .describe('seconds; 24 hours by default'),
  max_pulls: z.number().int().min(1).max(MAX_PULLS).nullish(),
  visibility: z
    .enum(['link', 'tenant'])
    .nullish()
    .describe('`link`: the URL is enough, by default in open mode; `tenant`: by default with keys'),
  key_check: z
    .string()
    .regex(/^[0-9a-f]{16}$/)
    .nullish()
    .describe('of an encrypted payload: tells a wrong key before a pull; with a raw body as Relay-Key-Check'),
});

const listed = z.object({
  id: pointerId,
  url: z.url(),
  metadata: jsonObject,
  size: count,
  sha256: text,
  text: z.boolean(),
  content_type: nullableText,
  channel: nullableText,
  created_at: time,
  expires_at: time,
  max_pulls: count.nullable(),
  visibility: z.enum(['link', 'tenant']),
  from: text,
  tokens: tokenCount.optional(),
  key_check: optionalText,
});

export const pointerSchemas = schemasFor(pointers)({
  push: {
    input: pushFields.extend({
      idempotency_key: optionalText,
      count: looseFlag.optional().describe('count the tokens too'),
    }),
    output: pushed,
  },
  pull: {
    input: z.object({
      id: pointerId,
      raw: looseFlag.optional().describe('the bytes instead of the {data, metadata} envelope'),
      ...partFields,
      cost: looseFlag.optional().describe('the token price instead of the content'),
      keyless: looseFlag.optional().describe('refuse an encrypted payload instead of counting a pull'),
    }),
    output: z.union([
      z.object({ data: text, metadata: jsonObject, encoding: z.literal('base64').optional() }),
      tokenCount.extend({ bytes: count }),
    ]),
    content: [...BYTES.content, 'text/html'],
    also: { ...BYTES.also, 304: 'The client has it already.' },
    codes: [...BYTES.codes, 'key_missing'],
  },
  peek: { input: z.object({ id: pointerId }), output: jsonObject },
  list: {
    input: z.object({
      after: optionalText.describe('the `next` of the page before'),
      limit: limit(200),
      channel: channelName.optional(),
      from: optionalText.describe('who pushed it'),
    }),
    output: z.object({ pointers: z.array(listed), next: optionalText }),
  },
  renew: {
    input: z.object({
      ids: z
        .array(text)
        .max(RENEWED_POINTERS)
        .describe('ids of pointers; unknown ones are left out of the answer'),
      ttl: z
        .number()
        .min(1)
        .max(MAX_TTL_MS / 1000)
        .optional()
        .describe('minimum lifetime in seconds, from now; by default as long as the plan allows'),
    }),
    output: z.object({ pointers: z.array(z.object({ id: pointerId, expires_at: time })) }),
  },
  delete: { input: z.object({ id: pointerId }), output: z.null() },
});
