import type { Caller } from '../caller.ts';
import type { ThreadsApi } from './api.ts';
import type { CapabilitiesApi } from './capabilities/api.ts';
import type { ThreadHouse } from './thread-house.ts';

/** Threads are much code, and most commands need none of it: it is loaded at the first call. */

const METHODS = [
  'create',
  'list',
  'get',
  'delete',
  'state',
  'header',
  'patch',
  'diff',
  'compact',
  'replay',
  'putArtifact',
  'artifact',
  'content',
  'artifacts',
  'search',
  'events',
  'record',
  'send',
  'envelopes',
  'hold',
  'release',
  'stats',
  'totals',
  'report',
  'render',
  'export',
  'import',
] as const satisfies readonly Exclude<keyof ThreadsApi, 'watch'>[];

type Missing = Exclude<keyof ThreadsApi, (typeof METHODS)[number] | 'watch'>;

export function lazyThreads(load: () => Promise<ThreadHouse>, caller: Caller): ThreadsApi {
  let bound: Promise<ThreadsApi> | null = null;
  const api = () => {
    bound ??= Promise.all([load(), import('./thread-house.ts')]).then(([house, { bindThreads }]) =>
      bindThreads(house, caller),
    );
    return bound;
  };
  const methods = METHODS.map((name) => [
    name,
    async (...args: never[]) => ((await api())[name] as (...args: never[]) => unknown)(...args),
  ]);
  const watch: ThreadsApi['watch'] = async function* (id, o) {
    yield* (await api()).watch(id, o);
  };
  // A method that is missing from the list above is missing here, and the compiler says so.
  const complete: [Missing] extends [never] ? true : never = true;
  return complete && ({ ...Object.fromEntries(methods), watch } as ThreadsApi);
}

export function lazyCapabilities(load: () => Promise<ThreadHouse>, caller: Caller): CapabilitiesApi {
  return {
    list: async () => ({ capabilities: (await load()).capabilities.list() }),
    invoke: async (input) => (await load()).capabilities.invoke(caller, input),
  };
}
