import {
  FIRST_OBJECT,
  markOf,
  type RemotePort,
  type TenantObjects,
  TenantRouting,
} from '../../src/app/cloudflare/tenant-routing.ts';
import type { Env } from '../../src/base/env.ts';
import { DeferredWork, type Engine, type SweepResult, type Usage } from '../../src/kernel/engine.ts';
import type { Entry, LogPage } from '../../src/kernel/logs.ts';
import type { Platform } from './controlled-platform.ts';
import type { CallAnswer, ObjectCall } from './step.ts';

/** Maximum delay of deferred work in ms. */
const MOMENT_MS = 20;

/**
 * An engine in this process over the objects of a Worker under test. It is slow: each call is an HTTP request. `keys`
 * is true if the relay has API keys, so that its tenants have separate objects.
 */
export function engineOver(control: Platform['control'], env: Env, { keys }: { keys: boolean }): Engine {
  const calls = new Calls(control);
  const call = (object: string | null, method: string, given: readonly unknown[] = []) =>
    calls.ask({ object, method, given });
  const objects: TenantObjects = {
    idFromName: (name) => name as never,
    get: (id) => ({
      fetch: () => Promise.reject(new Error('not supported')),
      importRows: () => Promise.reject(new Error('not supported')),
      call: async (port, method, args) => call(String(id), `${port}.${method}`, await withoutFunctions(args)),
    }),
  };
  const stub = objects.get(FIRST_OBJECT as never);
  const ended = new AbortController();
  const port = <Port extends RemotePort>(name: Port): Engine[Port] =>
    new Proxy({} as Engine[Port], {
      get:
        (_, method: string) =>
        (...args: unknown[]) => {
          if (method === 'stage') return staged(stub.call(name, 'put', args), String(args[0]));
          return stub.call(name, method, args);
        },
    });
  const deferred = new DeferredWork();
  const all = {
    ports: { blobs: port('blobs'), records: port('records'), logs: port('logs'), index: port('index') },
  };
  const engine: Engine = {
    ...all.ports,
    limits: {
      recordBytes: 1_900_000,
      entryBytes: 1_900_000,
      blobBytes: 64 * 1024 * 1024,
      durability: 'quorum',
    },
    now: () => env.now(),
    // Run deferred work soon, so that a test sees what this core has written.
    defer: (work, afterMs = 0) => deferred.defer(work, Math.min(afterMs, MOMENT_MS)),
    async sweep() {
      return sumOf((await call(null, 'sweep')) as SweepResult[]);
    },
    async usage() {
      const used = (await call(null, 'usage')) as Usage[];
      const sum = (figure: (each: Usage) => number) => used.reduce((all, each) => all + figure(each), 0);
      return {
        blobs: { count: sum(({ blobs }) => blobs.count), bytes: sum(({ blobs }) => blobs.bytes) },
        records: sum(({ records }) => records),
        entries: sum(({ entries }) => entries),
        diskBytes: sum(({ diskBytes }) => diskBytes),
      };
    },
    state: async () => ({ engine: 'Cloudflare', replicas: null, warnings: [] }),
    async [Symbol.asyncDispose]() {
      await deferred.settle();
      ended.abort();
    },
  };
  const awaitEntries = async (stream: string, after: number) => {
    const tenant = keys ? /^(?:chn|grp|act)\.([^./]+)/.exec(stream)?.[1] : undefined;
    const object = tenant === undefined ? FIRST_OBJECT : markOf(tenant);
    return (await call(object, 'logs.await', [stream, after])) as LogPage;
  };
  const routed = keys ? new TenantRouting(objects).route(engine, FIRST_OBJECT) : engine;
  const logs = new Proxy(routed.logs, {
    get: (of, method: keyof Engine['logs']) =>
      method === 'subscribe'
        ? (stream: string, o: { after?: number; signal: AbortSignal }) =>
            follow((after) => awaitEntries(stream, after), {
              after: o.after ?? 0,
              signal: AbortSignal.any([o.signal, ended.signal]),
            })
        : of[method],
  });
  const { blobs, records, index } = routed;
  return {
    ...routed,
    blobs: replaceable(blobs, ['put', 'stage', 'get', 'delete', 'list']),
    records: replaceable(records, ['get', 'put', 'stage', 'add', 'delete', 'list']),
    logs: replaceable(logs, ['append', 'read', 'subscribe', 'info', 'trim', 'drop']),
    index,
  };
}

/** Returns a plain object with the methods of a port, so that a test can replace one of them. */
function replaceable<Port extends object>(port: Port, methods: readonly (keyof Port)[]): Port {
  const method = (name: keyof Port) => (port[name] as (...args: unknown[]) => unknown).bind(port);
  return Object.fromEntries(methods.map((name) => [name, method(name)])) as Port;
}

/** Adds up the sweeps of all objects. */
export function sumOf(swept: readonly SweepResult[]): SweepResult {
  const sum = (figure: 'blobs' | 'records' | 'bytes') => swept.reduce((all, each) => all + each[figure], 0);
  return { blobs: sum('blobs'), records: sum('records'), bytes: sum('bytes') };
}

interface Waiting {
  readonly call: ObjectCall;
  resolve(answer: unknown): void;
  reject(error: unknown): void;
}

/** Sends the calls of one turn of the event loop as one request. */
class Calls {
  readonly #control: Platform['control'];
  #waiting: Waiting[] = [];

  constructor(control: Platform['control']) {
    this.#control = control;
  }

  ask(call: ObjectCall): Promise<unknown> {
    if (this.#waiting.length === 0) setImmediate(() => this.#send());
    return new Promise((resolve, reject) => this.#waiting.push({ call, resolve, reject }));
  }

  async #send(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    // A call that waits for entries would hold up the answers of the others.
    const [slow, fast] = [true, false].map((isSlow) =>
      waiting.filter(({ call }) => (call.method === 'logs.await') === isSlow),
    );
    await Promise.all([...slow!.map((each) => [each]), fast!].map((some) => this.#sendSome(some)));
  }

  async #sendSome(some: readonly Waiting[]): Promise<void> {
    if (some.length === 0) return;
    try {
      const answers = (await this.#control(
        'call',
        some.map(({ call }) => call),
      )) as CallAnswer[];
      for (const [i, { resolve, reject }] of some.entries()) {
        const { value, error } = answers[i]!;
        if (error === undefined) resolve(value);
        else reject(new Error(error));
      }
    } catch (error) {
      for (const { reject } of some) reject(error);
    }
  }
}

async function staged(put: Promise<unknown>, key: string): Promise<object> {
  const info = await put;
  return { key, ...(typeof info === 'object' ? info : {}) };
}

/** Resolves the functions among the options, such as `expiresAt`, and reads streams. */
async function withoutFunctions(args: readonly unknown[]): Promise<unknown[]> {
  return Promise.all(
    args.map(async (arg) => {
      if (arg instanceof ReadableStream) return new Uint8Array(await new Response(arg).arrayBuffer());
      // Copy a Buffer, because JSON would call its own method.
      if (arg instanceof Uint8Array) return new Uint8Array(arg);
      if (arg === null || typeof arg !== 'object') return arg;
      const { with: _, ...o } = arg as { with?: unknown; expiresAt?: unknown };
      return typeof o.expiresAt === 'function' ? { ...o, expiresAt: await o.expiresAt() } : arg;
    }),
  );
}

async function* follow(
  awaitEntries: (after: number) => Promise<LogPage>,
  { after, signal }: { after: number; signal: AbortSignal },
): AsyncGenerator<Entry> {
  const ended = new Promise<null>((resolve) =>
    signal.addEventListener('abort', () => resolve(null), { once: true }),
  );
  for (let cursor = after; !signal.aborted; ) {
    const pending = awaitEntries(cursor);
    // After an abort, nobody awaits this call.
    pending.catch(() => {});
    const page = await Promise.race([pending, ended]);
    for (const entry of page?.entries ?? []) {
      if (signal.aborted) return;
      cursor = entry.seq;
      yield entry;
    }
  }
}
