import { ownTextWork } from '../../src/app/store/own-text-work.ts';
import type { Bench } from '../bench.ts';
import { aligned } from '../table.ts';
import { openThreadStore } from '../thread-store.ts';
import { avoided, type Bill, billOf, brokenClaim } from '../tokens/bill.ts';

/** Token cost of prompts and correctness of the answers, against pasting everything and against random previews. */
export default {
  name: 'tokens',
  claim: 'at most 5 % of the tokens of pasting, with at least 95 % of the answers right',
  limit: 0.05,
  async run() {
    await using store = await openThreadStore();
    const bill = await billOf(store.threads, ownTextWork);
    const [pasting, ours] = [bill.all[0]!, bill.all.at(-1)!];
    const broken = brokenClaim(bill);
    return {
      measured: ours.tokens,
      baseline: pasting.tokens,
      unit: 'tokens',
      ratio: ours.tokens / pasting.tokens,
      detail: `${ours.right} of ${ours.asked} answers right, pasted texts ${pasting.right}`,
      ...(broken === null ? {} : { broken }),
      more: told(bill),
    };
  },
} satisfies Bench;

function told({ cases, all }: Bill): string {
  const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
  const rows = [...cases, { name: 'all', what: '', lines: all }].flatMap(({ name, what, lines }) =>
    lines.map((line, i) => [
      i === 0 ? name : i === 1 ? `  ${what}`.trimEnd() : '',
      line.way,
      String(line.tokens),
      percent(avoided(lines, line.way)),
      percent(avoided(lines, line.way, 'sent')),
      `${line.right}/${line.asked}`,
    ]),
  );
  const heads = ['what was asked of', 'way', 'tokens', 'avoided', 'sent again each round', 'answers right'];
  return aligned([heads, ...rows], (column) => column < 2);
}
