/**
 * npm run bench [-- [--json] [--rounds N] name…]: measures what is claimed and prints it in one table. Exit code 1 when
 * a claim does not hold.
 */
import { globSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Bench } from './bench.ts';
import { isOver, type Line, table } from './table.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean' }, rounds: { type: 'string' } },
});

const lines: Line[] = [];
for (const bench of await load(positionals)) {
  process.stderr.write(`measuring ${bench.name}…\n`);
  lines.push({ bench, result: await bench.run({ rounds: Number(values.rounds) || 21 }) });
}
console.log(values.json ? JSON.stringify(report(), null, 2) : table(lines));
if (lines.some(isOver)) process.exitCode = 1;

async function load(names: readonly string[]): Promise<Bench[]> {
  const files = globSync(join(import.meta.dirname, 'cases', '*.ts')).sort();
  const known = files.map((file) => basename(file, '.ts'));
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    console.error(`There is no bench called ${unknown.join(', ')}. There are: ${known.join(', ')}.`);
    process.exit(2);
  }
  const wanted = files.filter((file) => names.length === 0 || names.includes(basename(file, '.ts')));
  return Promise.all(wanted.map(async (file) => (await import(file)).default as Bench));
}

function report() {
  return {
    machine: {
      node: process.version,
      platform: `${process.platform}-${process.arch}`,
      cpu: cpus()[0]?.model ?? 'unknown',
      cores: availableParallelism(),
    },
    benches: lines.map(({ bench, result }) => ({
      name: bench.name,
      claim: bench.claim,
      limit: bench.limit,
      ok: !isOver({ bench, result }),
      ...result,
    })),
  };
}
