import { z } from 'zod';
import { SCOPES } from '../base/enums.ts';
import { SHARE_NAME_CHARS, SHARE_TTL_MAX_S } from '../base/limits.ts';
import {
  count,
  flag,
  nullableText,
  type SchemaRows,
  type Shape,
  seconds,
  otherTenant as tenant,
  text,
  threadId,
  time,
} from './shapes.ts';

const scope = z.enum(SCOPES);
const scopes = z.array(scope).min(1).readonly();
const id = z.string().min(1).max(64).describe('as it stands in the list: `key_…`, never the key itself');

const newKey = z.object({
  name: z.string().describe('shown to others as the sender'),
  scopes: scopes.optional().describe('all but `admin` by default'),
  channel_prefix: z.string().optional().describe('only channels whose names begin with this'),
  expires_in: z.number().positive().optional().describe('seconds; until it is revoked by default'),
  /** The caller's own by default; another only by an admin of the relay. */
  tenant,
  plan: z.string().max(64).optional().describe('puts the tenant on this plan'),
});
export interface NewKey extends Shape<typeof newKey> {}

const keyInfo = z.object({
  id: text,
  tenant: text,
  name: text,
  scopes,
  channel_prefix: nullableText,
  created_at: time,
  expires_at: time.nullable(),
  last_used_at: time.nullable(),
  revoked_at: time.nullable(),
});
export interface KeyInfo extends Shape<typeof keyInfo> {}

const revokedKey = keyInfo.extend({
  /** Number of share links that ended because this key was revoked. */
  shares_ended: z.number().int().min(0).describe('share links that ended with it'),
});
export interface RevokedKey extends Shape<typeof revokedKey> {}

const createdKey = keyInfo.extend({
  key: z.string().describe('shown this once; the relay keeps only its hash'),
  plan: text,
});
/** The only time the key itself is shown. */
export interface CreatedKey extends Shape<typeof createdKey> {}

const self = z.object({
  /** `open`: nobody is asked for a key. */
  auth: z.enum(['open', 'keys']),
  /** Nobody is asked for a key, and others than this machine can reach the relay. */
  exposed: z.boolean().describe('the relay asks for no keys though others can reach it'),
  tenant: text,
  key_id: text,
  name: text,
  scopes: z.array(scope).readonly(),
  channel_prefix: nullableText,
  thread: nullableText.describe('of a share link: the one thread that it shows'),
  /** It looks after all tenants. */
  admin_of_relay: z.boolean(),
});
/** Who is asking, as the relay sees it. */
export interface Self extends Shape<typeof self> {}

export const keySchemas = {
  create: { input: newKey, output: createdKey, codes: ['too_many_keys'] },
  self: { input: z.object({}), output: self },
  list: {
    input: z.object({
      all: flag.optional().describe('also those revoked in the last 30 days'),
      tenant,
    }),
    output: z.object({ keys: z.array(keyInfo) }),
  },
  revoke: { input: z.object({ id, tenant }), output: revokedKey },
  rotate: {
    input: z.object({
      id,
      grace: z.number().min(0).optional().describe('seconds that the old key goes on working; 0 by default'),
      tenant,
    }),
    output: createdKey,
    codes: ['too_many_keys'],
  },
} satisfies SchemaRows;

const newShare = z.object({
  thread_id: threadId,
  /** For whoever looks at the list. */
  name: z.string().max(SHARE_NAME_CHARS).optional(),
  expires_in: seconds(SHARE_TTL_MAX_S)
    .optional()
    .describe('seconds until it leads nowhere; a week by default'),
});
export interface NewShare extends Shape<typeof newShare> {}

const shareInfo = z.object({
  id: text,
  thread_id: threadId,
  name: text,
  created_by: text,
  key_id: nullableText.describe(
    'the id of the key that made the link, or of its successor: the link ends with it; null for links made before 0.3',
  ),
  created_at: time,
  expires_at: time,
  last_used_at: time.nullable(),
});
/** A link that shows one thread to whoever has it. */
export interface ShareInfo extends Shape<typeof shareInfo> {}

const createdShare = shareInfo.extend({
  /** What is sent in place of an API key. */
  token: z.string().describe('shown this once; the relay keeps only its hash'),
  /** The page behind the address of the relay; the token is in the fragment, which no server gets to see. */
  path: z.string().describe('the page, with the token in the fragment'),
});
/** The only time the link itself is shown. */
export interface CreatedShare extends Shape<typeof createdShare> {}

export const shareSchemas = {
  create: { input: newShare, output: createdShare, codes: ['not_found'] },
  list: {
    input: z.object({ thread_id: z.uuid().optional() }),
    output: z.object({ shares: z.array(shareInfo) }),
  },
  revoke: { input: z.object({ id: z.string().min(1).max(64) }), output: z.null() },
} satisfies SchemaRows;

const usageQuery = z.object({
  month: z.string().max(7).optional().describe('`2026-11`, in UTC; the current one by default'),
  /** The caller's own by default; another only by an admin of the relay. */
  tenant,
});
export interface UsageQuery extends Shape<typeof usageQuery> {}

const meter = z.object({
  used: count,
  /** Null: as many as one likes. */
  limit: count.nullable(),
});
export interface Meter extends Shape<typeof meter> {}

const usageRow = z.object({
  /** In UTC. */
  day: text,
  /** The key's id. */
  key: text,
  operation: text,
  count,
  /** Of payloads, in or out. */
  bytes: count,
});
export interface UsageRow extends Shape<typeof usageRow> {}

const usageReport = z.object({
  tenant: text,
  plan: text,
  month: text,
  /** When the counts begin anew. */
  reset: time,
  pushes: meter,
  pulls: meter.describe('told, never enforced'),
  /** Bytes that threads, files and the messages of channels take up now, whichever the month. */
  storage: meter.describe('bytes of threads, files and channel messages, as of now'),
  /** All keys for an admin, the own key for anyone else. May be some seconds behind. */
  rows: z.array(usageRow),
});
export interface UsageReport extends Shape<typeof usageReport> {}

export const usageSchemas = {
  get: {
    input: usageQuery.extend({ format: z.enum(['json', 'csv']).optional() }),
    output: usageReport,
    content: ['text/csv'],
  },
} satisfies SchemaRows;
