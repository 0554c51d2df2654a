import { randomUUID } from 'node:crypto';
import { remoteEngineAt } from '../src/app/store/remote-engines.ts';
import type { Env } from '../src/base/env.ts';
import { openMemory } from '../src/engines/memory/engine.ts';
import type { Engine } from '../src/kernel/engine.ts';
import { closeAtTheEnd } from './close-at-the-end.ts';

/**
 * Opens the engine that RELAY_TEST_ENGINE names, so that end-to-end tests can run on every engine: a new store in a
 * NATS cluster (`nats://…`) or in the objects of a Worker (`cloudflare`). The default is memory.
 */
export function openUnderTest(env: Env): Engine {
  const where = process.env.RELAY_TEST_ENGINE;
  if (!where) return openMemory({ env });
  const opening = where === 'cloudflare' ? openInWorker(env) : openInCluster(where, env);
  opening.catch(() => {});
  closeAtTheEnd({ [Symbol.asyncDispose]: async () => (await opening)[Symbol.asyncDispose]() });
  return whenOpened(opening, env);
}

function openInCluster(cluster: string, env: Env): Promise<Engine> {
  const url = `${cluster}/t${randomUUID().slice(0, 8)}`;
  return remoteEngineAt(url)!.open(url, { env, deadlineMs: 60_000 });
}

async function openInWorker(env: Env): Promise<Engine> {
  const { hostWorker } = await import('./cloudflare/worker-relay.ts');
  const { engine, dispose } = await hostWorker({ env, step: () => ({ shift: env.now() - Date.now() }) });
  return {
    ...engine,
    async [Symbol.asyncDispose]() {
      await engine[Symbol.asyncDispose]();
      await dispose();
    },
  };
}

/**
 * Returns an engine that can be used before it is open. Calls wait until it is open, except reading the time and the
 * limits.
 */
function whenOpened(opening: Promise<Engine>, env: Env): Engine {
  const port = <P extends 'blobs' | 'records' | 'logs' | 'index'>(name: P): Engine[P] =>
    new Proxy({} as Engine[P], {
      // If a test has replaced a method, call the replacement.
      get: (own, method: string) =>
        Reflect.get(own, method) ??
        (method === 'subscribe'
          ? (...args: Parameters<Engine['logs']['subscribe']>) => subscribed(opening, args)
          : async (...args: unknown[]) => {
              const found = (await opening)[name] as unknown as Record<string, (...a: unknown[]) => unknown>;
              return found[method]!(...args);
            }),
    });
  return {
    blobs: port('blobs'),
    records: port('records'),
    logs: port('logs'),
    index: port('index'),
    limits: {
      recordBytes: 256 * 1024,
      entryBytes: 256 * 1024,
      blobBytes: 64 * 1024 * 1024,
      durability: 'quorum',
    },
    now: () => env.now(),
    defer: (work, afterMs) => void opening.then((engine) => engine.defer(work, afterMs)),
    sweep: async () => (await opening).sweep(),
    usage: async () => (await opening).usage(),
    state: async () => (await opening).state(),
    [Symbol.asyncDispose]: async () => (await opening)[Symbol.asyncDispose](),
  };
}

async function* subscribed(opening: Promise<Engine>, args: Parameters<Engine['logs']['subscribe']>) {
  yield* (await opening).logs.subscribe(...args);
}
