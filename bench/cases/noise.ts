import type { Bench } from '../bench.ts';
import { compareShape, PAYLOAD_BYTES } from '../pointers.ts';
import { startBare } from '../servers.ts';

/** Compares the bare server with itself. The difference is the noise of a run. */
export default (['push', 'pull'] as const).map((verb) => ({
  name: `noise-${verb}`,
  claim: null,
  limit: null,
  async run({ rounds }) {
    await using one = await startBare();
    await using other = await startBare();
    const [ours, baseline] = [one, other].map(({ url }) =>
      verb === 'push'
        ? { url: `${url}/push`, bodyBytes: PAYLOAD_BYTES }
        : { url: `${url}/bytes/${PAYLOAD_BYTES}`, answerBytes: PAYLOAD_BYTES },
    );
    const shape = { verb, form: 'raw', bytes: PAYLOAD_BYTES, atOnce: 1 } as const;
    return await compareShape(
      shape,
      ours!,
      baseline!,
      rounds,
      'the bare server against itself: all of it is noise',
    );
  },
})) satisfies Bench[];
