import { spawnSync } from 'node:child_process';
import type { Bench } from '../bench.ts';
import { benchExecutable } from '../command-line.ts';
import { plainEnv, temporaryFolder } from '../servers.ts';
import { median, percentile } from '../statistics.ts';

const BUDGET_MS = 40;
const COMMAND = ['sh', '-c', 'echo 42 passed'];

/** Time that `relay tee` adds to a command that ends at once. The command's output is short, so nothing is stored. */
export default {
  name: 'tee-start',
  claim: `at most ${BUDGET_MS} ms`,
  limit: 1,
  async run({ rounds }) {
    const executable = benchExecutable();
    if (executable === null) return { skipped: 'npm has no Bun for this platform' };
    using temporary = temporaryFolder();
    const home = temporary.path;
    const added: number[] = [];
    const alone: number[] = [];
    for (let i = 0; i < rounds * 2; i++) {
      alone.push(time(COMMAND, home));
      added.push(time([executable, 'tee', '--', ...COMMAND], home) - alone.at(-1)!);
    }
    // The first rounds fill the disk cache, so they do not count.
    const warmRuns = added.slice(3);
    return {
      measured: median(warmRuns),
      baseline: BUDGET_MS,
      unit: 'ms',
      ratio: median(warmRuns) / BUDGET_MS,
      spread: [percentile(warmRuns, 0.25) / BUDGET_MS, percentile(warmRuns, 0.75) / BUDGET_MS],
      detail: `relay tee, executable, added to ${COMMAND.join(' ')}, which takes ${median(alone).toFixed(1)} ms; baseline: the budget`,
    };
  },
} satisfies Bench;

function time([program, ...args]: readonly string[], home: string): number {
  const began = performance.now();
  const { status, stdout, stderr } = spawnSync(program!, args, {
    env: { ...plainEnv(), RELAY_HOME: home },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const took = performance.now() - began;
  if (status !== 0 || stdout !== '42 passed\n')
    throw new Error(`${program} ended with exit code ${status}: ${stdout}${stderr}`);
  return took;
}
