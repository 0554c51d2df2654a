import { z } from 'zod';
import { RUNGS } from '../base/enums.ts';
import {
  EXCERPT_MAX_TOKENS,
  MAX_PULLS,
  MAX_TTL_MS,
  POINTERS_LISTED,
  RENEWED_POINTERS,
} from '../base/limits.ts';
import { deadReason } from './channels.ts';
import {
  BYTES,
  channelName,
  cost,
  count,
  handle,
  idempotencyKey,
  jsonObject,
  limit,
  looseFlag,
  nullableText,
  optionalText,
  partFields,
  pointerId,
  pointerName,
  queryNumber,
  type SchemaRows,
  type Shape,
  searchWords,
  seconds,
  statedAgent,
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
  handle,
  channel: nullableText,
  expires_at: time,
  size: count,
  /** Number of tokens. Present only if they were counted. */
  tokens: tokenCount.optional(),
  /** Present only if an excerpt was requested and the relay could read the payload. */
  excerpt: z.string().optional().describe('the most important lines of the payload, with their numbers'),
  visibility: z
    .literal('tenant')
    .optional()
    .describe('present only if the URL alone is not enough, which is the default on a relay with keys'),
});
export interface Pushed extends Shape<typeof pushed> {}

/** Fields of a JSON push. Old clients send null for an omitted option, and an empty channel name for no channel. */
const pushFields = z.object({
  data: z.string().describe('the payload; with another content type the raw body is the payload'),
  channel: channelName.or(z.literal('')).nullish().describe('announce the pointer on this channel'),
  metadata: jsonObject.nullish(),
  ttl: ttl.nullish().describe('seconds; 24 hours by default'),
  max_pulls: z.number().int().min(1).max(MAX_PULLS).nullish(),
  visibility: visibility
    .nullish()
    .describe(
      '`link`: the URL is enough (default in open mode); `tenant`: needs a key of the tenant (default with keys)',
    ),
  key_check: z
    .string()
    .regex(/^[0-9a-f]{16}$/)
    .nullish()
    .describe(
      'for an encrypted payload: reveals a wrong key before a pull; with a raw body, send it as Relay-Key-Check',
    ),
});

const about = {
  metadata: jsonObject,
  size: count,
  sha256: text,
  /** True if the bytes are valid UTF-8. */
  text: z.boolean(),
  content_type: nullableText,
  channel: nullableText,
  /** Time when the payload was stored, in ISO 8601, UTC. */
  created_at: time,
  expires_at: time,
  max_pulls: count.nullable(),
  /** Number of pulls that are left. Present in a peek if the pulls are limited. */
  pulls_left: count.optional(),
  visibility,
  from: text,
  ...statedAgent,
  /** Number of tokens. Present only if they were counted. */
  tokens: tokenCount.optional(),
  /**
   * Check value of the payload key, if the sender set it. An encryption key with another check value cannot decrypt
   * the payload.
   */
  key_check: optionalText,
  handle,
};

const peeked = z.object({ id: pointerId, ...about });
/** The properties of a pointer, without the payload. */
export interface Peeked extends Shape<typeof peeked> {}

const listed = z.object({ id: pointerId, url: z.url(), ...about });
/** A pointer in a list, without the payload. */
export interface ListedPointer extends Shape<typeof listed> {}

const pointerQuery = z.object({
  after: optionalText.describe('`next` of the previous page'),
  limit: limit(POINTERS_LISTED),
  channel: channelName.optional(),
  from: optionalText.describe('name of the sender'),
  q: searchWords.describe('words in the summary, metadata, sender, channel or handle'),
});
export interface PointerQuery extends Shape<typeof pointerQuery> {}

const pointerPage = z.object({
  pointers: z.array(listed),
  /** Pass it as `after` to get the next page. A page with few items may have a next page too. */
  next: optionalText,
});
export interface PointerPage extends Shape<typeof pointerPage> {}

const outputFigures = {
  /** Number of stored outputs. */
  runs: count,
  /** Number of tokens of the whole outputs. */
  tokens: count,
  /** Number of tokens of the excerpts that were printed. */
  shown: count,
  /** `tokens` minus `shown`. */
  kept_back: count,
  /** Estimated number of tokens that were pulled later, computed from the bytes. */
  pulled: count,
  /** `kept_back` minus `pulled`. Negative if more was pulled than kept back. */
  net: count,
};

const outputReport = z.object({
  /** One entry per command, in descending order of the net saving. */
  commands: z.array(z.object({ command: text, ...outputFigures })),
  total: z.object(outputFigures),
  /** Time of the oldest output that was counted. Null if there is none. */
  since: time.nullable(),
  /** True if there are older outputs that were not counted. */
  truncated: z.boolean(),
  /** A few sentences that say how the figures are calculated. */
  method: text,
});
/** Token figures of the stored outputs of commands. */
export interface OutputReport extends Shape<typeof outputReport> {}

const renewed = z.object({ pointers: z.array(z.object({ id: pointerId, handle, expires_at: time })) });
/** The requested pointers that exist in the tenant, with their new expiry times. */
export interface Renewed extends Shape<typeof renewed> {}

export interface Cost extends Shape<typeof cost> {}

export const pointerSchemas = {
  push: {
    input: pushFields.extend({
      idempotency_key: idempotencyKey,
      count: looseFlag.optional().describe('also count the tokens'),
      excerpt: queryNumber(1, EXCERPT_MAX_TOKENS).describe(
        'also return an excerpt of at most this many tokens',
      ),
    }),
    output: pushed,
  },
  pull: {
    input: z.object({
      id: pointerName,
      raw: looseFlag.optional().describe('return the bytes instead of {data, metadata}'),
      ...partFields,
      cost: looseFlag.optional().describe('return the number of tokens instead of the content'),
      look: looseFlag
        .optional()
        .describe(
          'for a part of an encrypted payload with limited pulls: the first request with this header uses one pull; further ones, and the next pull with the same API key (without keys: by anyone), are free',
        ),
      keyless: looseFlag.optional().describe('refuse an encrypted payload and do not count a pull'),
    }),
    output: z.union([
      z.object({ data: text, metadata: jsonObject, encoding: z.literal('base64').optional() }),
      cost,
    ]),
    content: [...BYTES.content, 'text/html'],
    also: { ...BYTES.also, 304: 'Not modified: the client already has this content.' },
    codes: [...BYTES.codes, 'key_missing'],
  },
  peek: { input: z.object({ id: pointerName }), output: jsonObject },
  list: { input: pointerQuery, output: pointerPage },
  outputs: { input: z.object({}), output: outputReport },
  renew: {
    input: z.object({
      ids: z
        .array(text)
        .max(RENEWED_POINTERS)
        .describe('ids or handles of pointers; the answer omits unknown ones'),
      ttl: ttl
        .optional()
        .describe('minimum lifetime in seconds, from now; by default as long as the plan allows'),
    }),
    output: renewed,
  },
  delete: { input: z.object({ id: pointerName }), output: z.null() },
} satisfies SchemaRows;

const rung = z.enum(RUNGS);
export type Rung = Shape<typeof rung>;

export const receipt = z.object({
  rung,
  by: text,
  by_agent: statedAgent.agent,
  /** Time of the first occurrence, in ISO 8601, UTC. */
  at: time,
  last_at: time.optional(),
  /** Number of subscribers that confirmed the notification, or number of pulls. */
  count: count.optional(),
  /** Number of pulls that were retries and did not count against `max_pulls`. */
  retries: count.optional(),
  /** Number of bytes that were stored, or total number of bytes that were read. */
  bytes: count.optional(),
  /** Group that acknowledged the message, or that made it a dead letter. */
  group: optionalText,
  /** For a dead letter: the reason. */
  reason: deadReason.optional(),
  /** For a dead letter: the number of attempts. */
  attempts: count.optional(),
  /** Pointer to the result. */
  url: z.url().optional(),
  status: optionalText,
  summary: optionalText,
});
/** One stage of the receipts with its evidence: who, when, how often and how many bytes. */
export interface Receipt extends Shape<typeof receipt> {}

const receiptLadder = z.object({
  id: z.uuid(),
  handle,
  /** The last stage that has evidence. */
  reached: rung,
  receipts: z.array(receipt),
});
/**
 * The receipts of a pointer in stages: stored → notified → pulled → acked → dead → result. A stage without evidence
 * is absent. Receipts are written shortly after the event, so the newest evidence may be missing for a moment.
 */
export interface ReceiptLadder extends Shape<typeof receiptLadder> {}

export const receiptSchemas = {
  get: { input: z.object({ id: pointerName }), output: receiptLadder },
} satisfies SchemaRows;
