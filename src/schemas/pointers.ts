import { z } from 'zod';
import { RUNGS } from '../base/enums.ts';
import { MAX_PULLS, MAX_TTL_MS, RENEWED_POINTERS } from '../base/limits.ts';
import { deadReason } from './channels.ts';
import {
  BYTES,
  channelName,
  cost,
  count,
  jsonObject,
  limit,
  looseFlag,
  nullableText,
  optionalText,
  partFields,
  pointerId,
  type SchemaRows,
  type Shape,
  seconds,
  text,
  time,
  tokenCount,
} from './shapes.ts';

const visibility = z.enum(['link', 'tenant']);
export type Visibility = Shape<typeof visibility>;

const ttl = seconds(MAX_TTL_MS / 1000);

const pushed = z.object({
  url: z.url(),
  id: pointerId,
  channel: nullableText,
  expires_at: time,
  size: count,
  /** Only where they have been counted already. */
  tokens: tokenCount.optional(),
  visibility: z
    .literal('tenant')
    .optional()
    .describe('only where the URL alone is not enough: by default on a relay with keys'),
});
export interface Pushed extends Shape<typeof pushed> {}

/** In JSON, older clients send null for an option that they leave out, and an empty channel. */
const pushFields = z.object({
  data: z.string().describe('the payload; any other content type sends it as the raw body'),
  channel: channelName.or(z.literal('')).nullish(),
  metadata: jsonObject.nullish(),
  ttl: ttl.nullish().describe('seconds; 24 hours by default'),
  max_pulls: z.number().int().min(1).max(MAX_PULLS).nullish(),
  visibility: visibility
    .nullish()
    .describe('`link`: the URL is enough, by default in open mode; `tenant`: by default with keys'),
  key_check: z
    .string()
    .regex(/^[0-9a-f]{16}$/)
    .nullish()
    .describe('of an encrypted payload: tells a wrong key before a pull; with a raw body as Relay-Key-Check'),
});

const about = {
  metadata: jsonObject,
  size: count,
  sha256: text,
  /** False for bytes that are not valid UTF-8. */
  text: z.boolean(),
  content_type: nullableText,
  channel: nullableText,
  /** ISO 8601, UTC. */
  created_at: time,
  expires_at: time,
  max_pulls: count.nullable(),
  visibility,
  from: text,
  /** Only where they have been counted already. */
  tokens: tokenCount.optional(),
  /** Only where the sender left one: a key with another check is not the one that this was encrypted with. */
  key_check: optionalText,
};

const peeked = z.object({ id: pointerId, ...about });
/** What a peek tells: never the payload. */
export interface Peeked extends Shape<typeof peeked> {}

const listed = z.object({ id: pointerId, url: z.url(), ...about });
/** A pointer in a list: never the payload. */
export interface ListedPointer extends Shape<typeof listed> {}

const pointerQuery = z.object({
  after: optionalText.describe('the `next` of the page before'),
  limit: limit(200),
  channel: channelName.optional(),
  from: optionalText.describe('who pushed it'),
});
export interface PointerQuery extends Shape<typeof pointerQuery> {}

const pointerPage = z.object({
  pointers: z.array(listed),
  /** Pass as `after` to go on; a page may be short and have one all the same. */
  next: optionalText,
});
export interface PointerPage extends Shape<typeof pointerPage> {}

const renewed = z.object({ pointers: z.array(z.object({ id: pointerId, expires_at: time })) });
/** Pointers that are there and belong to the caller's tenant, with the moment at which they now expire. */
export interface Renewed extends Shape<typeof renewed> {}

export interface Cost extends Shape<typeof cost> {}

export const pointerSchemas = {
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
      cost,
    ]),
    content: [...BYTES.content, 'text/html'],
    also: { ...BYTES.also, 304: 'The client has it already.' },
    codes: [...BYTES.codes, 'key_missing'],
  },
  peek: { input: z.object({ id: pointerId }), output: jsonObject },
  list: { input: pointerQuery, output: pointerPage },
  renew: {
    input: z.object({
      ids: z
        .array(text)
        .max(RENEWED_POINTERS)
        .describe('ids of pointers; unknown ones are left out of the answer'),
      ttl: ttl
        .optional()
        .describe('minimum lifetime in seconds, from now; by default as long as the plan allows'),
    }),
    output: renewed,
  },
  delete: { input: z.object({ id: pointerId }), output: z.null() },
} satisfies SchemaRows;

const rung = z.enum(RUNGS);
export type Rung = Shape<typeof rung>;

export const receipt = z.object({
  rung,
  by: text,
  /** ISO 8601, UTC; the first time, where there were several. */
  at: time,
  last_at: time.optional(),
  /** How many subscribers answered, or how many times it was pulled. */
  count: count.optional(),
  /** Of those pulls, the retries that did not count against `max_pulls`. */
  retries: count.optional(),
  /** Bytes stored, or read out all in all. */
  bytes: count.optional(),
  /** Acknowledged in this group, or given up by it. */
  group: optionalText,
  /** Of a dead letter: why, and after how many attempts. */
  reason: deadReason.optional(),
  attempts: count.optional(),
  /** The result, itself a pointer. */
  url: z.url().optional(),
  status: optionalText,
  summary: optionalText,
});
/** One rung, with its evidence: who, when, how much. */
export interface Receipt extends Shape<typeof receipt> {}

const receiptLadder = z.object({
  id: z.uuid(),
  /** The highest rung there is evidence for. */
  reached: rung,
  receipts: z.array(receipt),
});
/**
 * The ladder of a pointer: stored → notified → pulled → acked → dead → result. A rung without evidence is not there; one
 * that is there may have more behind it, because receipts are written a moment later and never waited for.
 */
export interface ReceiptLadder extends Shape<typeof receiptLadder> {}

export const receiptSchemas = {
  get: { input: z.object({ id: text }), output: receiptLadder },
} satisfies SchemaRows;
