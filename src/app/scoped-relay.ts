import { type Caller, requireScope, SCOPES, type Scope } from '../domain/caller.ts';
import type { Relay } from '../domain/relay.ts';
import type { Operation } from '../operations/operation.ts';

/** For methods that have no row of their own in the table. */
const PARTS: { readonly [part: string]: Scope } = {
  pointers: 'pull',
  receipts: 'pull',
  channels: 'subscribe',
  inbox: 'subscribe',
  threads: 'threads',
  capabilities: 'threads',
  tasks: 'tasks',
  agents: 'tasks',
  usage: 'push',
};

/**
 * The same relay for protocols that call it directly and not by routes: each method first looks at the caller's scopes, by the
 * same table that the routes are made from. What nobody thought of is for admins.
 */
export function scopedRelay(relay: Relay, caller: Caller, operations: readonly Operation[]): Relay {
  if (SCOPES.every((scope) => caller.scopes.includes(scope))) return relay;
  const scopes = new Map(operations.map(({ name, scope }) => [name, scope]));
  const guarded = (part: string, api: object): object =>
    new Proxy(api, {
      get(target, method, receiver) {
        const value: unknown = Reflect.get(target, method, receiver);
        if (typeof value !== 'function' || typeof method !== 'string') return value;
        const row = scopes.get(`${part}.${method}`);
        const scope = row === undefined ? (PARTS[part] ?? 'admin') : row;
        return (...args: unknown[]) => {
          if (scope !== null) requireScope(caller, scope);
          return value.apply(target, args);
        };
      },
    });
  return new Proxy(relay, {
    get(target, part, receiver) {
      const value: unknown = Reflect.get(target, part, receiver);
      return typeof part === 'string' && typeof value === 'object' && value !== null
        ? guarded(part, value)
        : value;
    },
  });
}
