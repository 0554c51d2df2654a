import type { Scope } from '../domain/caller.ts';

/** What a key may be allowed to do. */
export const SCOPES = [
  'push',
  'pull',
  'subscribe',
  'threads',
  'tasks',
  'admin',
] as const satisfies readonly Scope[];
