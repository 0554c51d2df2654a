import { z } from 'zod';
import { SCOPES } from '../contract/caller.ts';
import { keys } from '../contract/keys.ts';
import { schemasFor } from './schema.ts';
import { flag, nullableText, text, time } from './shapes.ts';

const scopes = z.array(z.enum(SCOPES)).min(1).readonly();
const id = z.string().min(1).max(64).describe('as it stands in the list: `key_…`, never the key itself');
const tenant = z.string().max(63).optional().describe('another tenant; only for admins of the relay itself');

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

const createdKey = keyInfo.extend({
  key: z.string().describe('shown this once; the relay keeps only its hash'),
  plan: text,
});

export const keySchemas = schemasFor(keys)({
  create: {
    input: z.object({
      name: z.string().describe('shown to others as the sender'),
      scopes: scopes.optional().describe('all but `admin` by default'),
      channel_prefix: z.string().optional().describe('only channels whose names begin with this'),
      expires_in: z.number().positive().optional().describe('seconds; until it is revoked by default'),
      tenant,
      plan: z.string().max(64).optional().describe('puts the tenant on this plan'),
    }),
    output: createdKey,
    codes: ['too_many_keys'],
  },
  self: {
    input: z.object({}),
    output: z.object({
      auth: z.enum(['open', 'keys']),
      exposed: z.boolean().describe('the relay asks for no keys though others can reach it'),
      tenant: text,
      key_id: text,
      name: text,
      scopes: z.array(z.enum(SCOPES)).readonly(),
      channel_prefix: nullableText,
      thread: nullableText.describe('of a share link: the one thread that it shows'),
      admin_of_relay: z.boolean(),
    }),
  },
  list: {
    input: z.object({
      all: flag.optional().describe('also those revoked in the last 30 days'),
      tenant,
    }),
    output: z.object({ keys: z.array(keyInfo) }),
  },
  revoke: {
    input: z.object({ id, tenant }),
    output: keyInfo.extend({
      shares_ended: z.number().int().min(0).describe('share links that ended with it'),
    }),
  },
  rotate: {
    input: z.object({
      id,
      grace: z.number().min(0).optional().describe('seconds that the old key goes on working; 0 by default'),
      tenant,
    }),
    output: createdKey,
    codes: ['too_many_keys'],
  },
});
