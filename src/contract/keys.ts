import type * as shapes from '../schemas/keys.ts';
import { verbs } from './verb.ts';

export type * from '../schemas/keys.ts';

const verb = verbs({ scope: 'admin', args: ['id'] });

export const keys = {
  create: verb<(input: shapes.NewKey) => Promise<shapes.CreatedKey>>('keys.create')({
    summary: 'Make an API key; the answer is the only place that ever shows it',
    route: 'POST /keys',
    args: [],
    status: 201,
  }),
  /** Any key may ask; refused with `unauthorized` without one, where keys are on. */
  self: verb<() => Promise<shapes.Self>>('keys.self')({
    summary: 'Who is asking: tenant, scopes, and whether keys are on at all',
    scope: null,
    shared: true,
    route: 'GET /keys/self',
    args: [],
  }),
  /** Newest first; with `all`, also those that were revoked in the last 30 days. */
  list: verb<(o?: { all?: boolean; tenant?: string }) => Promise<shapes.KeyInfo[]>>('keys.list')({
    summary: 'The keys of the tenant, newest first, never the keys themselves',
    route: 'GET /keys',
    args: [],
    answer: 'keys',
  }),
  /** It stops working at once, everywhere, and so do the share links it made. */
  revoke: verb<(id: string, o?: { tenant?: string }) => Promise<shapes.RevokedKey>>('keys.revoke')({
    summary: 'Revoke a key at once, and the share links it made',
    route: 'DELETE /keys/:id',
    repeatable: true,
  }),
  /**
   * A new key with the same name and rights; the old one works for `grace` more seconds, 0 by default. A key has one
   * successor, and is not rotated itself before the one that it replaced has ended.
   */
  rotate: verb<(id: string, o?: { grace?: number; tenant?: string }) => Promise<shapes.CreatedKey>>(
    'keys.rotate',
  )({
    summary: 'Make a new key with the same rights in place of an old one',
    route: 'POST /keys/:id/rotate',
    status: 201,
  }),
};

const shareVerb = verbs({ scope: 'threads', args: [] });

export const shares = {
  create: shareVerb<(input: shapes.NewShare) => Promise<shapes.CreatedShare>>('shares.create')({
    summary:
      'Make a link that shows one thread to whoever has it; the answer is the only place that ever shows it',
    route: 'POST /shares',
    status: 201,
  }),
  /** Those that work, newest first. */
  list: shareVerb<(o?: { thread_id?: string }) => Promise<{ readonly shares: readonly shapes.ShareInfo[] }>>(
    'shares.list',
  )({
    summary: 'The share links there are, newest first, never themselves',
    route: 'GET /shares',
  }),
  /** It leads nowhere from now on, and whoever is looking is cut off. */
  revoke: shareVerb<(id: string) => Promise<void>>('shares.revoke')({
    summary: 'Revoke a share link at once',
    route: 'DELETE /shares/:id',
    args: ['id'],
    status: 204,
    repeatable: true,
  }),
};

const usageVerb = verbs({ scope: 'push', args: [] });

export const usage = {
  get: usageVerb<(o?: shapes.UsageQuery) => Promise<shapes.UsageReport>, 'input'>('usage.get')({
    summary: 'What was used in a month, by key, operation and day; CSV with format=csv',
    route: 'GET /usage',
    byHand: 'server',
  }),
};
