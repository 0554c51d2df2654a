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
 * The Worker as it is, on a platform that a test has in hand: it says with each request what time it is, has all objects evicted
 * and alarms rung, and waits for what is written behind.
 */

const machineTime = Date.now.bind(Date);
const machineChance = systemEnv.randomBytes;
let step: Step = { shift: 0 };
Date.now = () => step.now ?? machineTime() + step.shift;
systemEnv.randomBytes = (length) => {
  const drawn = step.chance?.[length]?.shift();
  return drawn === undefined ? machineChance(length) : fromBase64(drawn)!;
};

/** What is put off for a moment is done at once: all of it is waited for before objects are evicted. */
const MOMENT_MS = 1_000;
const machineTimeout = setTimeout;
globalThis.setTimeout = ((work: () => void, ms = 0) =>
  machineTimeout(work, ms > MOMENT_MS ? ms : 0)) as typeof setTimeout;

/** What is idle is evicted at once. */
const EVICTION_MS = 500;

export class RelayObject extends ServedObject {
  ring(): Promise<void> {
    return this.alarm();
  }
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
   * As the platform does with objects that are idle: their sockets stay. One that holds a question for news open is not idle, and
   * workerd would wait half a minute for it. Tells whether all were.
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
  /** Every alarm that may be due, and what the cron does. */
  async ring(bindings: RelayBindings) {
    const named = (name: string) => bindings.STORE.get(bindings.STORE.idFromName(name));
    for (const name of await named(DIRECTORY).listObjects('', 1000))
      await (named(name) as unknown as RelayObject).ring();
  },
  /** What the engine of another process asks of an object. */
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
