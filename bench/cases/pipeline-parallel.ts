import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench } from '../bench.ts';
import { plainEnv, RELAY, temporaryFolder } from '../servers.ts';
import { type Round, summarise } from '../statistics.ts';

const STEPS = 100;
const AT_ONCE = 50;

export default {
  name: 'pipeline-parallel',
  claim: 'at most 1.5×',
  limit: 1.5,
  async run({ rounds }) {
    using temporary = temporaryFolder();
    const home = temporary.path;
    const file = join(home, 'naps.yaml');
    const steps = Array.from({ length: STEPS }, (_, i) => `  - { id: nap${i}, agent: nap }`);
    const head = ['name: naps', `max_parallel: ${AT_ONCE}`, 'agents: { nap: { shell: sleep 1 } }', 'steps:'];
    writeFileSync(file, [...head, ...steps].join('\n'));
    const result: Round[] = [];
    for (let i = 0; i < Math.max(3, Math.round(rounds / 7)); i++) {
      const ours = await time(() => run(process.execPath, [RELAY, 'pipeline', 'run', file], home));
      // The lower bound is two rounds of one second, plus the time to start one bare program per step in sequence.
      const spawns = await time(async () => {
        for (let n = 0; n < STEPS; n++) await run('/bin/sh', ['-c', 'sleep 0'], home);
      });
      result.push({ ours, baseline: (STEPS / AT_ONCE) * 1000 + spawns });
    }
    return summarise(
      result,
      'ms',
      `${STEPS} independent 1-second steps, ${AT_ONCE} at once; 2 s and ${STEPS} bare spawns`,
    );
  },
} satisfies Bench;

function run(command: string, args: readonly string[], home: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const env = { ...plainEnv(), RELAY_HOME: home };
    const child = spawn(command, args, { env, cwd: home, stdio: 'ignore' });
    child.once('error', reject);
    child.once('close', (code) =>
      code === 0 ? resolve() : reject(new Error(`${command} ended with exit code ${code}`)),
    );
  });
}

async function time(work: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}
