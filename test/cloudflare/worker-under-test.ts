import unsafe from 'workerd:unsafe';
import type { DurableObjectNamespace, DurableObjectState } from '@cloudflare/workers-types';

export { RelayObject } from '../../src/app/cloudflare/worker.ts';

import worker, { TenantObject as ServedObject } from '../../src/app/cloudflare/worker.ts';
import type { RelayBindings } from '../../src/app/cloudflare/worker-config.ts';
import { fromBase64 } from '../../src/base/base64.ts';
import { systemEnv } from '../../src/base/env.ts';
import type { SweepResult } from '../../src/kernel/engine.ts';
import type { LogPage } from '../../src/kernel/logs.ts';
import {
  type CallAnswer,
  CONTROL_PATH,
  type ObjectCall,
  pack,
  STEP_HEADER,
  type Step,
  unpack,
} from './step.ts';

/**
 * The real Worker with controls for a test. The test sets the time of each request, evicts all objects, runs alarms and
 * waits for write-behind.
 */

const machineTime = Date.now.bind(Date);
const machineRandomBytes = systemEnv.randomBytes;
let step: Step = { shift: 0 };
Date.now = () => step.now ?? machineTime() + step.shift;
systemEnv.randomBytes = (length) => {
  const drawn = step.chance?.[length]?.shift();
  return drawn === undefined ? machineRandomBytes(length) : fromBase64(drawn)!;
};

/** Timers of up to this many ms run after `NO_TIME_MS`, so that a test can evict objects without a long wait. */
const MOMENT_MS = 1_000;
/** Delay in ms of timers of up to `MOMENT_MS`. It is not 0, because a polling loop must let other work run. */
const NO_TIME_MS = 5;
const machineTimeout = setTimeout;
/** While true, work that yields with a timer of 0 ms fails, as if the process had stopped there. */
let stalls = false;
globalThis.setTimeout = ((work: () => void, ms = 0) => {
  if (stalls && ms === 0) throw new Error('broken off by the test');
  return machineTimeout(work, ms > MOMENT_MS ? ms : Math.min(ms, NO_TIME_MS));
}) as typeof setTimeout;

/** Maximum wait for an eviction in ms. Idle objects are evicted at once. */
const EVICTION_MS = 500;
/** Maximum wait in ms for background work. Some work, such as the delivery of webhooks, ends only with its task. */
const SETTLE_MS = 2_000;

/** Maximum wait in ms for new entries of a log. */
const AWAIT_MS = 2_000;

/** Objects that are in memory, by id. */
const awake = new Map<string, TenantObject>();

export class TenantObject extends ServedObject {
  readonly #bell: Bell;

  constructor(state: DurableObjectState, bindings: RelayBindings) {
    const bell = bellOf(String(state.id));
    attachAlarm(bell, state.storage);
    super(state, bindings);
    this.#bell = bell;
    awake.set(String(state.id), this);
  }

  override async alarm(): Promise<void> {
    this.#bell.due = null;
    await super.alarm();
  }

  /** Calls a method of the object's engine for a test, for example `records.get`. */
  async callEngine(path: string, given: readonly unknown[]): Promise<unknown> {
    const { store } = await this.running();
    if (path === 'logs.await') return this.#awaitEntries(String(given[0]), Number(given[1]));
    const [port, method] = path.split('.') as [keyof typeof store, string];
    if (method !== undefined && port !== 'index' && port !== 'blobs')
      return this.call(port as 'records', method, given);
    const target = (method === undefined ? store : store[port]) as unknown as Methods;
    const answer = await target[method ?? port]!(...given);
    const body = (answer as { body?: unknown } | null)?.body;
    return body instanceof ReadableStream
      ? { ...(answer as object), body: new Uint8Array(await new Response(body).arrayBuffer()) }
      : answer;
  }

  /** Reads the entries after a sequence number. If there are none, waits for them, at most `AWAIT_MS`. */
  async #awaitEntries(stream: string, after: number): Promise<LogPage> {
    const { logs } = (await this.running()).store;
    const page = await logs.read(stream, { after });
    if (page.entries.length > 0) return page;
    const enough = new AbortController();
    const timer = machineTimeout(() => enough.abort(), AWAIT_MS);
    for await (const _ of logs.subscribe(stream, { after, signal: enough.signal })) break;
    clearTimeout(timer);
    return logs.read(stream, { after });
  }

  /** Resolves when all write-behind data has been written. */
  async settle(): Promise<void> {
    const { store, core } = await this.running();
    await core.background.settle();
    await (await core.threads()).log.background.settle();
    await store.settle();
  }

  /** Sweeps as the alarm does. */
  async tidy(): Promise<SweepResult> {
    const { store, core } = await this.running();
    await this.settle();
    return core.sweepStore(store.segments('ten.').map((segment) => segment.slice('ten.'.length)));
  }

  /** Runs the alarm repeatedly until it is not due within `NEAR_MS`. */
  async ring(): Promise<void> {
    this.#bell.rings = true;
    try {
      while (this.#bell.due !== null && this.#bell.due <= Date.now() + NEAR_MS) await this.alarm();
    } finally {
      this.#bell.rings = false;
    }
  }
}

type Methods = { readonly [method: string]: (...given: readonly unknown[]) => unknown };

/** State of an object's alarm. The state survives an eviction of the object. */
interface Bell {
  /** Due time by the clock of the test. */
  due: number | null;
  /** True while the test runs the alarm. */
  rings: boolean;
}

const bells = new Map<string, Bell>();

function bellOf(id: string): Bell {
  const bell = bells.get(id) ?? { due: null, rings: false };
  bells.set(id, bell);
  return bell;
}

/** Makes alarms follow the test's clock. An alarm due within `NEAR_MS` runs at once. */
function attachAlarm(bell: Bell, storage: DurableObjectState['storage']): void {
  const set = storage.setAlarm.bind(storage);
  storage.setAlarm = async (due) => {
    bell.due = Number(due);
    const wait = bell.due - Date.now();
    if (wait > NEAR_MS) await set(machineTime() + wait);
    else if (!bell.rings) await set(machineTime());
  };
  storage.getAlarm = async () => bell.due;
}

/** Alarms due within this time run at once. It is longer than the pause between two rounds of a recount. */
const NEAR_MS = 5_000;

export default {
  async fetch(request: Request, bindings: RelayBindings): Promise<Response> {
    const told = request.headers.get(STEP_HEADER);
    if (told !== null) step = JSON.parse(told);
    const { pathname } = new URL(request.url);
    if (!pathname.startsWith(CONTROL_PATH)) return worker.fetch(request, bindings);
    const control = CONTROLS[pathname.slice(CONTROL_PATH.length) as keyof typeof CONTROLS];
    return new Response(pack(await control(bindings, request)));
  },
};

type Stub = Pick<TenantObject, 'ring' | 'settle' | 'tidy' | 'callEngine'>;

const namespace = ({ TENANTS }: RelayBindings) => TENANTS as unknown as DurableObjectNamespace;
const byId = (bindings: RelayBindings, id: string) =>
  namespace(bindings).get(namespace(bindings).idFromString(id)) as unknown as Stub;
const byName = (bindings: RelayBindings, name: string) =>
  namespace(bindings).get(namespace(bindings).idFromName(name)) as unknown as Stub;

async function settleAll(bindings: RelayBindings): Promise<void> {
  const settled = Promise.all([...awake.keys()].map((id) => byId(bindings, id).settle()));
  const enough = new Promise((end) => machineTimeout(end, SETTLE_MS));
  await Promise.race([settled, enough]);
}

const CONTROLS = {
  /** Evicts idle objects like the platform; their sockets stay open. Returns whether all objects were evicted. */
  async evict(bindings: RelayBindings) {
    await settleAll(bindings);
    const evicted = unsafe.evictAllDurableObjects({ webSockets: 'hibernate' }).then(
      () => true,
      () => false,
    );
    const enough = new Promise<false>((end) => machineTimeout(() => end(false), EVICTION_MS));
    const all = await Promise.race([evicted, enough]);
    if (all) awake.clear();
    return all;
  },
  settle: settleAll,
  async stall() {
    stalls = true;
  },
  async goOn() {
    stalls = false;
  },
  /** Runs every due alarm. */
  async ring(bindings: RelayBindings) {
    for (const id of bells.keys()) await byId(bindings, id).ring();
  },
  /** Calls engine methods of objects. A call without the name of an object is made on every object. */
  async call(bindings: RelayBindings, request: Request) {
    const calls = unpack(await request.text()) as ObjectCall[];
    const answer = async ({ object, method, given }: ObjectCall): Promise<unknown> => {
      if (object !== null) return byName(bindings, object).callEngine(method, given);
      return Promise.all([...bells.keys()].map((id) => byId(bindings, id).callEngine(method, given)));
    };
    return Promise.all(
      calls.map((call) =>
        answer(call).then(
          (value): CallAnswer => ({ value }),
          (error): CallAnswer => ({ error: String(error) }),
        ),
      ),
    );
  },
  async tidy(bindings: RelayBindings) {
    return Promise.all([...bells.keys()].map((id) => byId(bindings, id).tidy()));
  },
};
