import { type Context, Hono } from 'hono';
import { RelayError } from '../../base/errors.ts';
import { type Caller, isAnonymous } from '../../contract/caller.ts';
import type { Relay } from '../../contract/relay.ts';
import type { MountedProtocols } from '../../interfaces/http/app.ts';
import { baseOf, callerOf, notesOf } from '../../interfaces/http/callers.ts';
import type { HttpDeps } from '../../interfaces/http/deps.ts';
import { endingWithKey } from '../../interfaces/http/event-stream.ts';
import { failureResponse } from '../../interfaces/http/failures.ts';

/** Adds a protocol of its own to the port. `enter` says who sent a request; it throws `unauthorized`. */
export type Mount = (app: Hono, enter: Enter) => void;

export type Enter = (c: Context) => Promise<Entered>;

export interface Entered {
  readonly caller: Caller;
  readonly relay: Relay;
  /** What pointers begin with, as whoever sent the request can reach them. */
  readonly base: string;
}

export function mountBeside(deps: HttpDeps, mounts: readonly Mount[]): MountedProtocols {
  const others = new Hono({ strict: false });
  const enter = entrance(deps);
  for (const mount of mounts) mount(others, enter);
  others.notFound((c) => {
    const { method, path } = c.req;
    const error = new RelayError('no_route', { method, path: path.slice(0, 200) });
    return failureResponse(error, c.req.raw, deps, notesOf(c));
  });
  others.onError((error, c) => failureResponse(error, c.req.raw, deps, notesOf(c)));
  const { watch } = deps.core.keys;
  return {
    fetch: async (request, env) => {
      const response = await others.fetch(request, env);
      const { caller } = env.notes;
      return caller ? endingWithKey(response, (end) => watch.watch(caller, end)) : response;
    },
  };
}

function entrance(deps: HttpDeps): Enter {
  return async (c) => {
    notesOf(c).operation = { name: c.req.path.split('/')[1] ?? 'other' };
    const base = baseOf(deps, c);
    const caller = await callerOf(deps, c);
    if (isAnonymous(caller)) throw new RelayError('unauthorized');
    return { caller, base, relay: deps.core.relay(caller, base) };
  };
}
