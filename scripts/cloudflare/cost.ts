/**
 * Estimates the cost of a million pushes per day on Cloudflare. `node scripts/cloudflare/cost.ts` prints the
 * table in docs/scaling.md. test/cloudflare/limits.slow.test.ts checks the figures for calls and written
 * rows.
 */

interface Line {
  readonly what: string;
  readonly push: number;
  readonly pull: number;
  /** Number of units per month that the paid plan includes. */
  readonly included: number;
  /** Dollars per million units. */
  readonly price: number;
}

/**
 * Assumed number of calls to Durable Objects for a push of 1 KB to a channel and for its pull, including
 * write-behind. Measured: 4.3 and 2.7 calls in bursts; 6 and 6 calls if requests come one at a time, so that nothing
 * is batched.
 */
export const CALLS = { push: 8, pull: 8 };
/**
 * Assumed number of rows that a push and its pull write. Measured: 5.3 and 1.1 rows in bursts, 8 and 3 one at a time.
 */
export const ROWS_WRITTEN = { push: 8, pull: 3 };
/**
 * Number of rows that a push and its pull read, with about 450 messages in the channel. Measured once: 77 and 41 rows,
 * rounded up.
 */
const ROWS_READ = { push: 80, pull: 45 };
/**
 * CPU time in ms of a push and of its pull. It was measured for the whole workerd process, so it is more than Cloudflare
 * charges.
 */
const CPU_MS = { push: 4, pull: 2 };
/** Assumed duration of a call in seconds. */
const CALL_SECONDS = 0.01;
/** Memory in GB that Cloudflare charges for the duration of a call. */
const OBJECT_GB = 0.128;

const PLAN = 5;
const DAYS = 30;
const A_DAY = 1_000_000;
const MILLION = 1_000_000;

const LINES: readonly Line[] = [
  { what: 'requests to the Worker', push: 1, pull: 1, included: 10 * MILLION, price: 0.3 },
  { what: 'CPU time of the Worker, ms', ...CPU_MS, included: 30 * MILLION, price: 0.02 },
  { what: 'calls to Durable Objects', ...CALLS, included: MILLION, price: 0.15 },
  {
    what: 'duration of Durable Objects, GB-s (10 ms per call, assumed)',
    push: CALLS.push * CALL_SECONDS * OBJECT_GB,
    pull: CALLS.pull * CALL_SECONDS * OBJECT_GB,
    included: 400_000,
    price: 12.5,
  },
  { what: 'rows read', ...ROWS_READ, included: 25_000 * MILLION, price: 0.001 },
  { what: 'rows written', ...ROWS_WRITTEN, included: 50 * MILLION, price: 1 },
  // `included` is 0 here, because the line above uses up the included rows.
  {
    what: 'rows deleted on expiry (assumed: as many as a push writes, without the counter of handles)',
    push: ROWS_WRITTEN.push - 1,
    pull: 0,
    included: 0,
    price: 1,
  },
];

/** Returns the cost table in Markdown. */
export function costTable(): string {
  let sum = PLAN;
  const rows = LINES.map(({ what, push, pull, included, price }) => {
    const month = (push + pull) * A_DAY * DAYS;
    const cost = (Math.max(0, month - included) / MILLION) * price;
    sum += cost;
    const cells = [
      formatNumber(push),
      formatNumber(pull),
      formatMillions(month),
      formatMillions(included),
      `$${price}`,
      `$${cost.toFixed(2)}`,
    ];
    return `| ${what} | ${cells.join(' | ')} |`;
  });
  return [
    '| | per push | per pull | millions per month | millions included | per further million | per month |',
    '|---|---|---|---|---|---|---|',
    ...rows,
    `| base plan | | | | | | $${PLAN.toFixed(2)} |`,
    `| total | | | | | | $${sum.toFixed(2)} |`,
  ].join('\n');
}

function formatNumber(value: number): string {
  return String(Number(value.toPrecision(3)));
}

function formatMillions(value: number): string {
  return formatNumber(value / MILLION);
}

if (import.meta.main) console.log(costTable());
