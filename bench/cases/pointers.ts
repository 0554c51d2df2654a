import { type Bench, claimOf } from '../bench.ts';
import { bareSide, compareShape, PAYLOAD_BYTES, relaySide, type Shape, sizeOf } from '../pointers.ts';
import { startBare, startRelay } from '../servers.ts';

const SIZES = [1_000, PAYLOAD_BYTES, 5_000_000, 25_000_000];
const AT_ONCE = [1, 16, 64];

/** Maximum slowdown against the bare server. Cases not listed here are informational. */
const LIMITS: { readonly [name: string]: number } = {
  push: 1.2,
  'push-json': 1.5,
  'push-16': 0.83,
  pull: 1.3,
  'pull-json': 1.6,
  peek: 1.4,
};

export default [
  ...(['push', 'pull'] as const).flatMap((verb) =>
    SIZES.flatMap((bytes) =>
      (['raw', 'json'] as const).flatMap((form) =>
        AT_ONCE.map((atOnce) => bench({ verb, form, bytes, atOnce })),
      ),
    ),
  ),
  ...AT_ONCE.map((atOnce) => bench({ verb: 'peek', form: 'json', bytes: PAYLOAD_BYTES, atOnce })),
];

function bench(shape: Shape): Bench {
  const name = nameOf(shape);
  const limit = LIMITS[name] ?? null;
  return {
    name,
    claim: claimOf(limit),
    limit,
    async run({ rounds }) {
      await using relay = await startRelay();
      await using bare = await startBare();
      const ours = await relaySide(relay, shape);
      const baseline = await bareSide(bare.url, shape, ours);
      return await compareShape(shape, ours, baseline, rounds, detailOf(shape));
    },
  };
}

/**
 * Returns a name such as `push` or `pull-json-5mb-16`. It omits the defaults: raw, 125 KB, and one request at a time.
 */
function nameOf({ verb, form, bytes, atOnce }: Shape): string {
  const size = bytes === PAYLOAD_BYTES ? '' : `-${sizeOf(bytes).replace(' ', '').toLowerCase()}`;
  return `${verb}${form === 'json' && verb !== 'peek' ? '-json' : ''}${size}${atOnce > 1 ? `-${atOnce}` : ''}`;
}

function detailOf({ verb, form, bytes, atOnce }: Shape): string {
  const many = atOnce > 1 ? `, ${atOnce} at once` : '';
  const envelope = form === 'json' ? ' in a JSON envelope' : '';
  if (verb === 'push')
    return `a durable push of ${sizeOf(bytes)}${envelope}${many}; bare Node: write and fdatasync of the bytes`;
  if (verb === 'peek') return `a peek at ${sizeOf(bytes)}${many}; bare Node: as many bytes from memory`;
  return `a pull of ${sizeOf(bytes)}${envelope}${many}; bare Node: as many bytes from memory`;
}
