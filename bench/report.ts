import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { plot } from './plot.ts';
import { ROOT } from './servers.ts';
import { isOver, type Line, table } from './table.ts';

export type Report = ReturnType<typeof report>;

/** Returns the results of a run, with the machine and the versions. */
export function report(lines: readonly Line[], command: string) {
  return {
    machine: {
      node: process.version,
      platform: `${process.platform}-${process.arch}`,
      cpu: cpus()[0]?.model ?? 'unknown',
      cores: availableParallelism(),
      memory_gb: Math.round(totalmem() / 1e9),
    },
    command,
    benches: lines.map(({ bench, result }) => ({
      name: bench.name,
      claim: bench.claim,
      limit: bench.limit,
      ok: !isOver({ bench, result }),
      ...result,
    })),
  };
}

/** Writes the table, the results and a plot of the claims into docs/benchmarks. */
export function save(figures: Report, lines: readonly Line[]): void {
  const folder = join(ROOT, 'docs', 'benchmarks');
  mkdirSync(folder, { recursive: true });
  const { cpu, cores, memory_gb, node, platform } = figures.machine;
  const page = `# The last figures

\`${figures.command}\`, on ${cpu}, ${cores} cores, ${memory_gb} GB, ${platform}, Node ${node.slice(1)}. [How they are made](README.md).

![Each claim as the part of its limit that is used up](../images/benchmarks.svg)

\`\`\`
${table(lines)}
\`\`\`
`;
  writeFileSync(join(folder, 'results.md'), page);
  writeFileSync(join(folder, 'results.json'), `${JSON.stringify(figures, null, 2)}\n`);
  writeFileSync(join(folder, '..', 'images', 'benchmarks.svg'), plot(lines));
}
