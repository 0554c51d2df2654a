import { waitUntil } from 'cloudflare:workers';
import unsafe from 'workerd:unsafe';
import worker, { RelayObject as ServedObject } from '../../src/app/cloudflare/worker.ts';
import type { RelayBindings } from '../../src/app/cloudflare/worker-config.ts';
import { fromBase64 } from '../../src/base/base64.ts';
import { systemEnv } from '../../src/base/env.ts';
import { DIRECTORY } from '../../src/engines/cloudflare/objects.ts';
import { settled } from './kept-alive.ts';
import { CONTROL_PATH, type ObjectCall, pack, STEP_HEADER, type Step, unpack } from './step.ts';

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

export class RelayObject extends ServedObject {
  readonly #bell: Bell;

  constructor(state: Given[0], bindings: Given[1]) {
    const bell = bellOf(String(state.id));
    attachAlarm(bell, state.storage);
    super(state, { ...bindings, STORE: callsLimited(bindings.STORE, bell) });
    this.#bell = bell;
  }

  override async alarm(): Promise<void> {
    this.#bell.due = null;
    this.#bell.calls = 0;
    await super.alarm().finally(() => {
      this.#bell.calls = null;
    });
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

type Given = ConstructorParameters<typeof ServedObject>;

/** State of an object's alarm. The state survives an eviction of the object. */
interface Bell {
  /** Due time by the clock of the test. */
  due: number | null;
  /** True while the test runs the alarm. */
  rings: boolean;
  /** Number of calls of the running alarm, or null if no alarm runs. */
  calls: number | null;
}

const bells = new Map<string, Bell>();

function bellOf(id: string): Bell {
  const bell = bells.get(id) ?? { due: null, rings: false, calls: null };
  bells.set(id, bell);
  return bell;
}

/** Makes alarms follow the test's clock. An alarm due within `NEAR_MS` runs at once. */
function attachAlarm(bell: Bell, storage: Given[0]['storage']): void {
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

/** Maximum number of calls per alarm on the free plan. */
const CALLS = 50;

function callsLimited(objects: RelayBindings['STORE'], bell: Bell): RelayBindings['STORE'] {
  const limited = <T extends object>(object: T): T =>
    new Proxy(object, {
      get: (of, name) => {
        if (name === 'then') return undefined;
        return (...given: unknown[]) => {
          if (bell.calls !== null && ++bell.calls > CALLS) throw new Error('an alarm made too many calls');
          return (of as Record<PropertyKey, (...given: unknown[]) => unknown>)[name]!(...given);
        };
      },
    });
  return { idFromName: (name) => objects.idFromName(name), get: (id) => limited(objects.get(id)) };
}

export default {
  async fetch(request: Request, bindings: RelayBindings): Promise<Response> {
    const told = request.headers.get(STEP_HEADER);
    if (told !== null) step = JSON.parse(told);
    const { pathname } = new URL(request.url);
    if (!pathname.startsWith(CONTROL_PATH)) return worker.fetch(request, bindings);
    const control = CONTROLS[pathname.slice(CONTROL_PATH.length) as keyof typeof CONTROLS];
    return new Response(pack(await control(bindings, request)));
  },
  scheduled: worker.scheduled,
};

const CONTROLS = {
  /**
   * Evicts idle objects like the platform; their sockets stay open. An object with a pending `awaitEntries` is not idle,
   * and workerd would wait half a minute for it. Returns whether all objects were evicted.
   */
  async evict() {
    await settled();
    const evicted = unsafe.evictAllDurableObjects({ webSockets: 'hibernate' }).then(
      () => true,
      () => false,
    );
    const enough = new Promise<false>((end) => machineTimeout(() => end(false), EVICTION_MS));
    return Promise.race([evicted, enough]);
  },
  settle: () => settled(),
  async stall() {
    stalls = true;
  },
  async goOn() {
    stalls = false;
  },
  /** Runs every due alarm. */
  async ring(bindings: RelayBindings) {
    const named = (name: string) => bindings.STORE.get(bindings.STORE.idFromName(name));
    for (const name of await named(DIRECTORY).listObjects('', 1000))
      await (named(name) as unknown as RelayObject).ring();
  },
  /** Makes an object call for the engine in another process. */
  async call({ STORE }: RelayBindings, request: Request) {
    const { object, method, given } = unpack(await request.text()) as ObjectCall;
    const stub = STORE.get(STORE.idFromName(object)) as unknown as Record<
      string,
      (...given: unknown[]) => unknown
    >;
    return stub[method]!(...given);
  },
  async cron(bindings: RelayBindings) {
    await worker.scheduled({} as never, bindings, { waitUntil } as never);
    await settled();
  },
};
