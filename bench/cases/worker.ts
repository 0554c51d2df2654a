import { Audience } from '../audience.ts';
import type { Bench, Measured } from '../bench.ts';
import { compareAudiences } from '../fan-out.ts';
import { bareSide, compareShape, PAYLOAD_BYTES, relaySide, type Shape, sizeOf } from '../pointers.ts';
import type { Server } from '../servers.ts';
import { startBareWorker, startWorker, unmeasured } from '../workers.ts';

const SIZES = [1_000, PAYLOAD_BYTES, 1_000_000, 25_000_000];
/** Number of messages to one reader per round. */
const MESSAGES = 20;

/**
 * Measures CPU time per request, which Cloudflare bills and limits. Only the CPU time of the whole workerd process can
 * be measured. It includes the CPU time of workerd's storage.
 */
export default [
  ...(['push', 'pull'] as const).flatMap((verb) =>
    SIZES.map((bytes) => shapeBench({ verb, form: 'raw', bytes, atOnce: 1 })),
  ),
  shapeBench({ verb: 'peek', form: 'json', bytes: PAYLOAD_BYTES, atOnce: 1 }),
  bench('message', async (worker, bare, rounds) => {
    using ours = new Audience(worker, 'messages');
    using theirs = new Audience(bare, 'messages');
    const detail = describeCpu(
      'a push of 26 bytes to a channel with one reader',
      'a row, and a word to the reader',
    );
    const pids = [worker.pid, bare.pid] as const;
    return await compareAudiences(ours, theirs, { subscribers: 1, rounds, detail, pushes: MESSAGES, pids });
  }),
];

function shapeBench(shape: Shape): Bench {
  const { verb, bytes } = shape;
  const name = verb === 'peek' ? verb : `${verb}-${sizeOf(bytes).replace(' ', '').toLowerCase()}`;
  const least = { push: 'stores them', pull: 'gives them out', peek: 'gives out as many bytes' }[verb];
  return bench(name, async (worker, bare, rounds) => {
    const ours = await relaySide(worker, shape);
    const baseline = await bareSide(bare.url, shape, ours);
    return await compareShape(
      shape,
      { ...ours, pid: worker.pid },
      { ...baseline, pid: bare.pid },
      rounds,
      describeCpu(`a ${verb} of ${sizeOf(bytes)}`, least),
    );
  });
}

function bench(
  name: string,
  compare: (worker: Server, bare: Server, rounds: number) => Promise<Measured>,
): Bench {
  return {
    ...{ name: `worker-${name}`, claim: null, limit: null },
    async run({ rounds }) {
      const skipped = unmeasured();
      if (skipped) return skipped;
      await using worker = await startWorker();
      await using bare = await startBareWorker();
      return (await compare(worker, bare, rounds)).work!;
    },
  };
}

const describeCpu = (what: string, least: string) =>
  `processor time of ${what} on workerd; bare Worker: ${least}`;
