import type { Bench } from '../bench.ts';
import { healthUnder } from '../under-attack.ts';

const AT_ONCE = 80;
const TEXT_BYTES = 24 * 1024 * 1024;
const LINE = 'a line of ordinary text with a number 12345 in it\n';

export default {
  name: 'hostile-greps',
  claim: 'less than 250 ms',
  limit: 1,
  run: () =>
    healthUnder({
      detail: `${AT_ONCE} greps at once in a text of 24 MB, asked for with one key`,
      budgetMb: 600,
      budgetSliceMs: 100,
      async prepare({ url }) {
        const body = LINE.repeat(TEXT_BYTES / LINE.length);
        const { id } = (await (await fetch(`${url}/push`, { method: 'POST', body })).json()) as {
          id: string;
        };
        const grep = encodeURIComponent('(num(b)?er )?[0-9]{6}x');
        return () =>
          Promise.all(
            Array.from({ length: AT_ONCE }, async () =>
              (await fetch(`${url}/pull/${id}?grep=${grep}`)).arrayBuffer(),
            ),
          );
      },
    }),
} satisfies Bench;
