/**
 * npm run bench [-- options name…]: measures the claims and prints a table. Exits with 1 if a claim does not hold, and
 * with 2 for wrong usage.
 */
import { globSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Bench, Measured, Skipped } from './bench.ts';
import { report, save } from './report.ts';
import { type Server, startRelay } from './servers.ts';
import { isOver, type Line, table } from './table.ts';
import { targetBenches } from './target.ts';
import { missingWorkerd, startWorker } from './workers.ts';

const HELP = `npm run bench [-- options name…]

  (nothing)     run all benchmarks; takes about 45 minutes on two quiet cores
  name…         run only these benchmarks; a name that ends with - means all names that begin with it: push-
  --claims      run only benchmarks that have a limit
  --quick       run fewer rounds; the results are less reliable
  --rounds N    number of rounds (default: 21, with --quick: 5)
  --target URL  compare a new relay with the server at this URL, which must support push, pull, peek and ws.
                CPU time is compared too if the server runs on this machine and the machine runs Linux
  --worker      with --target: run the relay as a Worker in workerd
  --key KEY     with --target: API key for the server
  --json FILE   also write the results, the machine and the command to a file
  --save        write the table, the results and a plot to docs/benchmarks
  --list        print the names of all benchmarks`;

const QUICK_ROUNDS = 5;
const ROUNDS = 21;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    claims: { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
    json: { type: 'string' },
    key: { type: 'string' },
    list: { type: 'boolean' },
    quick: { type: 'boolean' },
    rounds: { type: 'string' },
    save: { type: 'boolean' },
    target: { type: 'string' },
    worker: { type: 'boolean' },
  },
});

if (values.help) console.log(HELP);
else if (values.list) for (const { name } of await cases()) console.log(name);
else if (values.worker && !values.target) misused('--worker says what a --target is compared with.');
else if (values.worker && missingWorkerd()) misused(missingWorkerd()!);
else await main();

async function main(): Promise<void> {
  const rounds = Number(values.rounds) || (values.quick ? QUICK_ROUNDS : ROUNDS);
  await using ours = values.target ? await (values.worker ? startWorker() : startRelay()) : null;
  const benches = await selectBenches(ours);
  if (benches.length === 0) return;
  const lines: Line[] = [];
  for (const [n, bench] of benches.entries()) {
    process.stderr.write(`measuring ${bench.name} (${n + 1} of ${benches.length})…\n`);
    lines.push({ bench, result: await result(bench, rounds) });
  }
  const figures = report(lines, ['npm run bench --', ...process.argv.slice(2)].join(' '));
  console.log(table(lines));
  if (values.json) writeFileSync(values.json, `${JSON.stringify(figures, null, 2)}\n`);
  if (values.save) save(figures, lines);
  if (lines.some(isOver)) process.exitCode = 1;
}

/** Runs a benchmark. A failure is reported and does not stop the others. */
async function result(bench: Bench, rounds: number): Promise<Measured | Skipped> {
  try {
    return await bench.run({ rounds });
  } catch (error) {
    return { skipped: (error as Error).message.split('\n')[0]!, failed: true };
  }
}

async function selectBenches(ours: Server | null): Promise<Bench[]> {
  const target = { url: (values.target ?? '').replace(/\/$/, ''), key: values.key };
  const all = ours
    ? targetBenches(target, ours)
    : (await cases()).filter(({ limit }) => !values.claims || limit !== null);
  const unknown = positionals.filter((word) => !all.some(({ name }) => matches(name, word)));
  if (unknown.length > 0) {
    misused(`There is no bench called ${unknown.join(', ')}. --list shows what there is.`);
    return [];
  }
  if (positionals.length === 0) return all;
  return all.filter(({ name }) => positionals.some((word) => matches(name, word)));
}

function misused(why: string): void {
  console.error(why);
  process.exitCode = 2;
}

function matches(name: string, word: string): boolean {
  return word.endsWith('-') ? name.startsWith(word) : name === word;
}

async function cases(): Promise<Bench[]> {
  const files = globSync(join(import.meta.dirname, 'cases', '*.ts')).sort();
  const benches = await Promise.all(
    files.map(async (file) => (await import(file)).default as Bench | readonly Bench[]),
  );
  return benches.flat();
}
