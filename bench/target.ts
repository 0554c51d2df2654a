import { Audience } from './audience.ts';
import type { Bench } from './bench.ts';
import { compareAudiences } from './fan-out.ts';
import { compareShape, PAYLOAD_BYTES, type Peer, relaySide, type Shape, sizeOf } from './pointers.ts';
import { startRelay } from './servers.ts';

const SHAPES: readonly Shape[] = [1, 16].flatMap((atOnce) => [
  ...[1_000, PAYLOAD_BYTES, 5_000_000].flatMap((bytes) =>
    (['push', 'pull'] as const).map((verb) => ({ verb, form: 'json', bytes, atOnce }) as const),
  ),
  { verb: 'peek', form: 'json', bytes: PAYLOAD_BYTES, atOnce } as const,
]);

/** A new relay of ours beside any server that speaks push, pull, peek and ws, asked by the same client in turn. */
export function targetBenches(target: Peer): Bench[] {
  return [...SHAPES.map((shape) => shapeBench(target, shape)), ...[1, 100].map((n) => fanOut(target, n))];
}

function shapeBench(target: Peer, shape: Shape): Bench {
  const { verb, bytes, atOnce } = shape;
  const what = `${verb} of ${sizeOf(bytes)}${atOnce > 1 ? `, ${atOnce} at once` : ''}`;
  return {
    ...{ name: what, claim: null, limit: null },
    async run({ rounds }) {
      await using relay = await startRelay();
      const detail = times(`baseline: ${target.url}`);
      return await compareShape(
        shape,
        await relaySide(relay, shape),
        await relaySide(target, shape),
        rounds,
        detail,
      );
    },
  };
}

function fanOut(target: Peer, subscribers: number): Bench {
  return {
    ...{ name: `fan-out to ${subscribers}`, claim: null, limit: null },
    async run({ rounds }) {
      await using relay = await startRelay();
      using ours = new Audience(relay, 'fan-out');
      using theirs = new Audience(target, `fan-out-${crypto.randomUUID()}`);
      return await compareAudiences(ours, theirs, subscribers, rounds, times(`baseline: ${target.url}`));
    },
  };
}

const times = (detail: string) => `${detail}; below 1× ours is ahead`;
