import { type Context, Hono } from 'hono';
import { RelayError } from '../base/errors.ts';
import type { Caller } from '../domain/caller.ts';
import type { House } from '../domain/house.ts';
import type { Relay } from '../domain/relay.ts';
import type { HttpApp } from '../interfaces/http/app.ts';
import { browserGuard } from '../interfaces/http/browser-guard.ts';
import type { HttpDeps } from '../interfaces/http/deps.ts';
import { failureResponse } from '../interfaces/http/failures.ts';

/** Adds a protocol of its own to the port. `enter` says who sent a request; it throws `unauthorized`. */
export type Mount = (app: Hono, enter: Enter) => void;

export type Enter = (c: Context) => Promise<Entered>;

export interface Entered {
  readonly caller: Caller;
  readonly relay: Relay;
  /** What pointers begin with, as whoever sent the request can reach them. */
  readonly base: string;
}

/** Where the other protocols live. Everything else goes to the routes of the table without a detour. */
const OURS = /^https?:\/\/[^/]+\/(?:mcp|a2a|\.well-known\/agent-card\.json)(?:[/?]|$)/;

export function withMounts(app: HttpApp, deps: HttpDeps, mounts: readonly Mount[]): HttpApp {
  const others = new Hono({ strict: false });
  const enter = entrance(deps);
  for (const mount of mounts) mount(others, enter);
  others.notFound((c) => {
    const { method, path } = c.req;
    return failureResponse(new RelayError('no_route', { method, path: path.slice(0, 200) }), c.req.raw, deps);
  });
  others.onError((error, c) => failureResponse(error, c.req.raw, deps));
  const guard = browserGuard(deps);
  return {
    fetch(request) {
      if (!OURS.test(request.url)) return app.fetch(request);
      try {
        guard(request);
      } catch (error) {
        return failureResponse(error, request, deps);
      }
      return others.fetch(request);
    },
  };
}

function entrance(deps: {
  house: House;
  publicUrl: string | null;
  authenticate: HttpDeps['authenticate'];
}): Enter {
  return async (c) => {
    const base = deps.publicUrl ?? new URL(c.req.url).origin;
    const caller = await deps.authenticate(c.req.raw);
    return { caller, base, relay: deps.house.relay(caller, base) };
  };
}
