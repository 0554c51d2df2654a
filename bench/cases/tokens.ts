import { ownTextWork } from '../../src/app/store/own-text-work.ts';
import type { Bench } from '../bench.ts';
import { aligned } from '../table.ts';
import { openThreadStore } from '../thread-store.ts';
import { avoided, type Bill, billOf, brokenClaim } from '../tokens/bill.ts';
import { brokenStateClaim, type StateRow, stateBill, sumStates } from '../tokens/state-bill.ts';

/** Compares tokens and correct answers of our prompts with pasting everything and with random previews. */
export default {
  name: 'tokens',
  claim:
    'at most 5 % of the tokens of pasting, with at least 95 % of the answers right, about texts and about states',
  limit: 0.05,
  async run() {
    await using store = await openThreadStore();
    const bill = await billOf(store.threads, ownTextWork);
    const [pasting, ours] = [bill.all[0]!, bill.all.at(-1)!];
    const states = await stateBill(store.threads, ownTextWork);
    const broken = brokenClaim(bill) ?? brokenStateClaim(states);
    return {
      measured: ours.tokens,
      baseline: pasting.tokens,
      unit: 'tokens',
      ratio: ours.tokens / pasting.tokens,
      detail: `${ours.right} of ${ours.asked} answers right, pasted texts ${pasting.right}`,
      ...(broken === null ? {} : { broken }),
      more: `${formatBill(bill)}\n\n${formatStates(states)}`,
    };
  },
} satisfies Bench;

const percent = (share: number) => `${(100 * share).toFixed(1)} %`;

function formatStates(states: readonly StateRow[]): string {
  const all = {
    name: 'all',
    what: '',
    view: Math.max(...states.map(({ view }) => view)),
    lines: sumStates(states),
  };
  const rows = [...states, all].flatMap(({ name, what, view, lines }) =>
    lines.map(({ way, tokens, right, asked }, i) => [
      i === 0 ? name : i === 1 ? `  ${what}`.trimEnd() : '',
      way,
      String(tokens),
      percent(1 - tokens / lines[0]!.tokens),
      way === 'ours' ? String(view) : '',
      `${right}/${asked}`,
    ]),
  );
  const heads = ['state', 'way', 'tokens', 'avoided', 'largest view', 'answers right'];
  return aligned([heads, ...rows], (column) => column < 2);
}

function formatBill({ cases, all }: Bill): string {
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
