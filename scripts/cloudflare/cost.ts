/**
 * What a million pushes a day cost on Cloudflare, on paper: `node scripts/cloudflare/cost.ts` prints the table that docs/scaling.md
 * has. Calls and rows that are written are held to these figures by test/cloudflare/limits.slow.test.ts.
 */

interface Line {
  readonly what: string;
  readonly push: number;
  readonly pull: number;
  /** Included in the paid plan, a month. */
  readonly included: number;
  /** In dollars, for a million. */
  readonly price: number;
}

/**
 * A push of 1 KB to a channel and a pull of it, with what is written behind. Counted in bursts: 4.2 and 2.8 calls, 5.1 and 1.1 rows. Where each
 * comes alone, nothing is written together: 5 and 6 calls, 7 and 3 rows.
 */
export const CALLS = { push: 8, pull: 8 };
export const ROWS_WRITTEN = { push: 7, pull: 3 };
/** Counted once: 77 and 41, with some 450 messages in the channel. */
const ROWS_READ = { push: 80, pull: 45 };
/** Of the whole of workerd, so more than is charged. */
const CPU_MS = { push: 4, pull: 2 };
/** Assumed: how long a call keeps its object busy, of which 128 MB are charged. */
const CALL_SECONDS = 0.01;
const OBJECT_GB = 0.128;

const PLAN = 5;
const DAYS = 30;
const A_DAY = 1_000_000;
const MILLION = 1_000_000;

const LINES: readonly Line[] = [
  { what: 'requests to the Worker', push: 1, pull: 1, included: 10 * MILLION, price: 0.3 },
  { what: 'processor time of the Worker, ms', ...CPU_MS, included: 30 * MILLION, price: 0.02 },
  { what: 'calls of objects', ...CALLS, included: MILLION, price: 0.15 },
  {
    what: 'time of objects, GB-s (10 ms a call, assumed)',
    push: CALLS.push * CALL_SECONDS * OBJECT_GB,
    pull: CALLS.pull * CALL_SECONDS * OBJECT_GB,
    included: 400_000,
    price: 12.5,
  },
  { what: 'rows read', ...ROWS_READ, included: 25_000 * MILLION, price: 0.001 },
  { what: 'rows written', ...ROWS_WRITTEN, included: 50 * MILLION, price: 1 },
  // The rows that are included are spent above.
  {
    what: 'rows deleted when it expires (as many, assumed)',
    push: ROWS_WRITTEN.push,
    pull: 0,
    included: 0,
    price: 1,
  },
];

export function costTable(): string {
  let sum = PLAN;
  const rows = LINES.map(({ what, push, pull, included, price }) => {
    const month = (push + pull) * A_DAY * DAYS;
    const cost = (Math.max(0, month - included) / MILLION) * price;
    sum += cost;
    const shown = [
      short(push),
      short(pull),
      inMillions(month),
      inMillions(included),
      `$${price}`,
      `$${cost.toFixed(2)}`,
    ];
    return `| ${what} | ${shown.join(' | ')} |`;
  });
  return [
    '| | a push | a pull | a month, in millions | included | each further million | a month |',
    '|---|---|---|---|---|---|---|',
    ...rows,
    `| the plan | | | | | | $${PLAN.toFixed(2)} |`,
    `| all of it | | | | | | $${sum.toFixed(2)} |`,
  ].join('\n');
}

function short(value: number): string {
  return String(Number(value.toPrecision(3)));
}

function inMillions(value: number): string {
  return short(value / MILLION);
}

if (import.meta.main) console.log(costTable());
