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
const id = z.string().min(1).max(64).describe('id from the list of keys: `key_…`, not the key itself');

const newKey = z.object({
  name: z.string().describe('shown to others as the sender'),
  scopes: scopes.optional().describe('all but `answer` and `admin` by default'),
  channel_prefix: z.string().optional().describe('allow only channels whose names begin with this'),
  expires_in: z
    .number()
    .positive()
    .optional()
    .describe('seconds; by default the key is valid until it is revoked'),
  /** Tenant of the new API key. Default: the tenant of the caller. Only relay admins may name another one. */
  tenant,
  plan: z.string().max(64).optional().describe('assigns this plan to the tenant'),
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
  /** Number of share links that ended because this API key was revoked. */
  shares_ended: z
    .number()
    .int()
    .min(0)
    .describe('number of share links that ended because the key was revoked'),
});
export interface RevokedKey extends Shape<typeof revokedKey> {}

const createdKey = keyInfo.extend({
  key: z.string().describe('shown only once; the relay stores only its hash'),
  plan: text,
});
/** A new API key. Only this answer contains the key itself. */
export interface CreatedKey extends Shape<typeof createdKey> {}

const self = z.object({
  /** `open`: the relay requires no API keys. `keys`: it requires API keys. */
  auth: z.enum(['open', 'keys']),
  /** True if the relay requires no API keys, although other machines can reach it. */
  exposed: z.boolean().describe('the relay requires no keys, although other machines can reach it'),
  tenant: text,
  key_id: text,
  name: text,
  scopes: z.array(scope).readonly(),
  channel_prefix: nullableText,
  thread: nullableText.describe('for a share link: the thread that it shows'),
  /** True for admins of the relay, who manage all tenants. */
  admin_of_relay: z.boolean(),
});
/** The caller, as the relay sees it. */
export interface Self extends Shape<typeof self> {}

export const keySchemas = {
  create: { input: newKey, output: createdKey, codes: ['too_many_keys'] },
  self: { input: z.object({}), output: self },
  list: {
    input: z.object({
      all: flag.optional().describe('also list keys revoked in the last 30 days'),
      tenant,
    }),
    output: z.object({ keys: z.array(keyInfo) }),
  },
  revoke: { input: z.object({ id, tenant }), output: revokedKey },
  rotate: {
    input: z.object({
      id,
      grace: z.number().min(0).optional().describe('seconds for which the old key still works; 0 by default'),
      tenant,
    }),
    output: createdKey,
    codes: ['too_many_keys'],
  },
} satisfies SchemaRows;

const newShare = z.object({
  thread_id: threadId,
  /** Name that the list of share links shows. */
  name: z.string().max(SHARE_NAME_CHARS).optional(),
  expires_in: seconds(SHARE_TTL_MAX_S)
    .optional()
    .describe('seconds until the link expires; one week by default'),
});
export interface NewShare extends Shape<typeof newShare> {}

const shareInfo = z.object({
  id: text,
  thread_id: threadId,
  name: text,
  created_by: text,
  key_id: nullableText.describe(
    'id of the key that created the link, or of its successor; the link ends with this key; null for links created before 0.3',
  ),
  created_at: time,
  expires_at: time,
  last_used_at: time.nullable(),
});
/** A link that lets anyone who has it read one thread. */
export interface ShareInfo extends Shape<typeof shareInfo> {}

const createdShare = shareInfo.extend({
  /** Token that clients send instead of an API key. */
  token: z.string().describe('shown only once; the relay stores only its hash'),
  /** Path of the page. The token is in the URL fragment, which browsers do not send to a server. */
  path: z.string().describe('path of the page, with the token in the fragment'),
});
/** A new share link. Only this answer contains the link itself. */
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
  month: z.string().max(7).optional().describe('`2026-11`, in UTC; the current month by default'),
  /** Tenant whose usage is reported. Default: the tenant of the caller. Only relay admins may name another one. */
  tenant,
  store: flag
    .optional()
    .describe('1: also measure the whole store, as `relay du` does; only for admins of the relay'),
});
export interface UsageQuery extends Shape<typeof usageQuery> {}

const meter = z.object({
  used: count,
  /** Limit of the plan. Null if there is none. */
  limit: count.nullable(),
});
export interface Meter extends Shape<typeof meter> {}

const usageRow = z.object({
  /** Day in UTC. */
  day: text,
  /** Id of the API key. */
  key: text,
  operation: text,
  count,
  /** Number of payload bytes that were received or sent. */
  bytes: count,
});
export interface UsageRow extends Shape<typeof usageRow> {}

const storeSize = z.object({
  payloads: count.describe('stored payloads, artifacts and files'),
  payload_bytes: count,
  records: count,
  entries: count.describe('entries of all logs'),
  disk_bytes: count.describe('0 if the engine has no disk'),
});

const usageReport = z.object({
  tenant: text,
  plan: text,
  month: text,
  /** Time when the counts are reset. */
  reset: time,
  pushes: meter,
  pulls: meter.describe('reported, not enforced'),
  /** Number of bytes that threads, files and channel messages use now. It is not reset with the month. */
  storage: meter.describe('bytes that threads, files and channel messages use now'),
  /**
   * Usage per day, API key and operation. An admin sees all API keys, another caller only its own. The figures may be
   * some seconds old.
   */
  rows: z.array(usageRow),
  store: storeSize.optional().describe('the whole store, as `relay du` reports it'),
});
export interface UsageReport extends Shape<typeof usageReport> {}

export const usageSchemas = {
  get: {
    input: usageQuery.extend({ format: z.enum(['json', 'csv']).optional() }),
    output: usageReport,
    content: ['text/csv'],
  },
} satisfies SchemaRows;
