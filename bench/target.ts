import { Audience } from './audience.ts';
import type { Bench, Measured } from './bench.ts';
import { compareAudiences } from './fan-out.ts';
import { compareShape, PAYLOAD_BYTES, type Peer, relaySide, type Shape, sizeOf } from './pointers.ts';
import { listenerOf } from './processes.ts';
import type { Server } from './servers.ts';

const SHAPES: readonly Shape[] = [1, 16].flatMap((atOnce) => [
  ...[1_000, PAYLOAD_BYTES, 5_000_000].flatMap((bytes) =>
    (['push', 'pull'] as const).map((verb) => ({ verb, form: 'json', bytes, atOnce }) as const),
  ),
  { verb: 'peek', form: 'json', bytes: PAYLOAD_BYTES, atOnce } as const,
]);

/** Number of messages per round. They are sent one after another. */
const MESSAGES = 20;

/**
 * Compares a relay with any server that supports push, pull, peek and ws. One client measures both in turn. Both servers
 * run during the whole comparison, so they are equally warm. If the other server runs on this machine, CPU time is
 * compared too.
 */
export function targetBenches(target: Peer, ours: Server): Bench[] {
  const listener = listenerOf(target.url);
  const pids = listener === undefined ? undefined : ([ours.pid, listener] as const);
  const detail = `baseline: ${target.url}; below 1× ours is ahead`;
  const shapes = SHAPES.map((shape) =>
    bench(nameOf(shape), async (rounds) => {
      const side = { ...(await relaySide(ours, shape)), pid: pids?.[0] };
      const theirs = { ...(await relaySide(target, shape)), pid: pids?.[1] };
      return await compareShape(shape, side, theirs, rounds, detail);
    }),
  );
  const fanOuts = [1, 100].map((subscribers) =>
    bench(`fan-out to ${subscribers}`, async (rounds) => {
      const channel = `fan-out-${crypto.randomUUID()}`;
      using audience = new Audience(ours, channel);
      using theirs = new Audience(target, channel);
      const o = { subscribers, rounds, detail, pushes: MESSAGES, pids };
      return await compareAudiences(audience, theirs, o);
    }),
  );
  return [...shapes, ...fanOuts];
}

function bench(name: string, compare: (rounds: number) => Promise<Measured>): Bench {
  return { ...{ name, claim: null, limit: null }, run: ({ rounds }) => compare(rounds) };
}

function nameOf({ verb, bytes, atOnce }: Shape): string {
  return `${verb} of ${sizeOf(bytes)}${atOnce > 1 ? `, ${atOnce} at once` : ''}`;
}
