/**
 * Estimates the cost of a million pushes per day on Cloudflare. `node scripts/cloudflare/cost.ts` prints the
 * table in docs/scaling.md. test/cloudflare/calls.slow.test.ts checks the figures for calls and written
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

/** Calls to Durable Objects for a push of 1 KB to a channel and for its pull. Write-behind makes no calls. */
export const CALLS = { push: 1, pull: 1 };
/**
 * Assumed number of rows that a push to a channel and its pull write, with write-behind. `plain` is a push to no
 * channel. Measured: 5.2, 1.1 and 3.2 rows in bursts; 8, 3 and 6 rows one at a time.
 */
export const ROWS_WRITTEN = { push: 6, pull: 2, plain: 4 };
/** Number of rows that expire later: the payload, its record, list entry and message, and the receipt of the pull. */
const ROWS_EXPIRED = { push: 4, pull: 1 };
/**
 * Number of rows that a push and its pull read, with about 450 messages in the channel. Measured once: 6.6 and 3.2 rows,
 * rounded up. A sweep also reads every row, at most once an hour.
 */
const ROWS_READ = { push: 10, pull: 5 };
/**
 * CPU time in ms of a push and of its pull. It was measured for the whole workerd process, so it is more than Cloudflare
 * charges. The object's part is charged by duration.
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

/** This Worker: one Durable Object per tenant. */
const OURS: readonly Line[] = [
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
  { what: 'rows deleted on expiry', ...ROWS_EXPIRED, included: 0, price: 1 },
];

/** The original Worker: a KV pair per payload, which expires by itself, and a Durable Object per channel for sockets. */
const ORIGINAL: readonly Line[] = [
  { what: 'requests to the Worker', push: 1, pull: 1, included: 10 * MILLION, price: 0.3 },
  { what: 'KV pairs written', push: 1, pull: 0, included: MILLION, price: 5 },
  { what: 'KV pairs read', push: 0, pull: 1, included: 10 * MILLION, price: 0.5 },
  { what: 'calls to Durable Objects', push: 1, pull: 0, included: MILLION, price: 0.15 },
];

/** Returns the cost table of a design in Markdown. */
export function costTable(lines: readonly Line[] = OURS): string {
  let sum = PLAN;
  const rows = lines.map(({ what, push, pull, included, price }) => {
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

if (import.meta.main) console.log(`${costTable()}\n\nThe original Worker:\n\n${costTable(ORIGINAL)}`);
