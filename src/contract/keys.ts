import type * as shapes from '../schemas/keys.ts';
import { verbs } from './verb.ts';

export type * from '../schemas/keys.ts';

const verb = verbs({ scope: 'admin', args: ['id'] });

export const keys = {
  create: verb<(input: shapes.NewKey) => Promise<shapes.CreatedKey>>('keys.create')({
    summary: 'Create an API key; only this answer shows the key',
    route: 'POST /keys',
    args: [],
    status: 201,
  }),
  /**
   * Returns the caller, for any API key. Rejects with `unauthorized` if the relay requires API keys and the caller
   * has none.
   */
  self: verb<() => Promise<shapes.Self>>('keys.self')({
    summary: 'Get the caller: tenant, scopes, and whether the relay requires keys',
    scope: null,
    shared: true,
    route: 'GET /keys/self',
    args: [],
  }),
  /** Lists API keys, newest first. With `all`, the list includes keys that were revoked in the last 30 days. */
  list: verb<(o?: { all?: boolean; tenant?: string }) => Promise<shapes.KeyInfo[]>>('keys.list')({
    summary: 'List the keys of the tenant, newest first, without their secrets',
    route: 'GET /keys',
    args: [],
    answer: 'keys',
  }),
  /** Revokes an API key and the share links that it created. The key and the links stop working immediately. */
  revoke: verb<(id: string, o?: { tenant?: string }) => Promise<shapes.RevokedKey>>('keys.revoke')({
    summary: 'Revoke a key, and the share links it created, at once',
    route: 'DELETE /keys/:id',
    repeatable: true,
  }),
  /**
   * Creates a new API key with the name and rights of the old one, which still works for `grace` seconds (default:
   * 0). A key can be rotated only once, and its successor only after the old key has stopped working.
   */
  rotate: verb<(id: string, o?: { grace?: number; tenant?: string }) => Promise<shapes.CreatedKey>>(
    'keys.rotate',
  )({
    summary: 'Replace a key with a new one that has the same rights',
    route: 'POST /keys/:id/rotate',
    status: 201,
  }),
};

const shareVerb = verbs({ scope: 'threads', args: [] });

export const shares = {
  create: shareVerb<(input: shapes.NewShare) => Promise<shapes.CreatedShare>>('shares.create')({
    summary: 'Create a link that lets anyone who has it read one thread; only this answer shows the link',
    route: 'POST /shares',
    status: 201,
  }),
  /** Lists valid share links, newest first. */
  list: shareVerb<(o?: { thread_id?: string }) => Promise<{ readonly shares: readonly shapes.ShareInfo[] }>>(
    'shares.list',
  )({
    summary: 'List share links, newest first, without their tokens',
    route: 'GET /shares',
  }),
  /** Revokes a share link and closes the connections that use it. */
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
    summary: 'Get the usage of a month by key, operation and day; format=csv returns CSV',
    route: 'GET /usage',
    byHand: 'server',
  }),
};
