import { z } from 'zod';
import { defineOperation } from './operation.ts';
import { SCOPES } from './scopes.ts';

const scopes = z.array(z.enum(SCOPES)).min(1).readonly();
const id = z.string().min(1).max(64).describe('as it stands in the list: `key_…`, never the key itself');
const tenant = z.string().max(63).optional().describe('another tenant; only for admins of the relay itself');

const keyInfo = z.object({
  id: z.string(),
  tenant: z.string(),
  name: z.string(),
  scopes,
  channel_prefix: z.string().nullable(),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime().nullable(),
  last_used_at: z.iso.datetime().nullable(),
  revoked_at: z.iso.datetime().nullable(),
});

const createdKey = keyInfo.extend({
  key: z.string().describe('shown this once; the relay keeps only its hash'),
  plan: z.string(),
});

export const keyOperations = [
  defineOperation({
    name: 'keys.create',
    summary: 'Make an API key; the answer is the only place that ever shows it',
    scope: 'admin',
    input: z.object({
      name: z.string().describe('shown to others as the sender'),
      scopes: scopes.optional().describe('all but `admin` unless told'),
      channel_prefix: z.string().optional().describe('only channels whose names begin with this'),
      expires_in: z.number().positive().optional().describe('seconds; until it is revoked unless told'),
      tenant,
      plan: z.string().max(64).optional().describe('puts the tenant on this plan'),
    }),
    output: createdKey,
    http: { method: 'POST', path: '/keys', status: 201 },
    run: (relay, input) => relay.keys.create(input),
  }),
  defineOperation({
    name: 'keys.list',
    summary: 'The keys of the tenant, newest first, never the keys themselves',
    scope: 'admin',
    input: z.object({
      all: z.enum(['0', '1']).optional().describe('also those revoked in the last 30 days'),
      tenant,
    }),
    output: z.object({ keys: z.array(keyInfo) }),
    http: { method: 'GET', path: '/keys' },
    run: async (relay, { all, tenant: wanted }) => ({
      keys: await relay.keys.list({ all: all === '1', tenant: wanted }),
    }),
  }),
  defineOperation({
    name: 'keys.revoke',
    summary: 'Revoke a key at once',
    scope: 'admin',
    input: z.object({ id, tenant }),
    output: keyInfo,
    http: { method: 'DELETE', path: '/keys/:id' },
    run: (relay, { id: wanted, ...o }) => relay.keys.revoke(wanted, o),
  }),
  defineOperation({
    name: 'keys.rotate',
    summary: 'Make a new key with the same rights in place of an old one',
    scope: 'admin',
    input: z.object({
      id,
      grace: z.number().min(0).optional().describe('seconds that the old key goes on working; 0 unless told'),
      tenant,
    }),
    output: createdKey,
    http: { method: 'POST', path: '/keys/:id/rotate', status: 201 },
    run: (relay, { id: wanted, ...o }) => relay.keys.rotate(wanted, o),
  }),
];
