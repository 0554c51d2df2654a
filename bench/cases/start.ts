import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Bench } from '../bench.ts';
import { plainEnv, ROOT, temporaryFolder } from '../servers.ts';
import { type Round, summarise } from '../statistics.ts';

/** Time from `npm start`, in a clone that is set up, until the server answers. */
export default {
  name: 'start',
  claim: null,
  limit: null,
  async run({ rounds }) {
    const measured: Round[] = [];
    for (let round = -1; round < Math.ceil(rounds / 4); round++) {
      const pair = { ours: await serving(), baseline: await bareNpm() };
      if (round >= 0) measured.push(pair);
    }
    return summarise(measured, 'ms', 'npm start until it listens, in a clone that is set up; npm --version');
  },
} satisfies Bench;

async function serving(): Promise<number> {
  using home = temporaryFolder();
  const began = performance.now();
  const child = spawn('npm', ['start', '--', '--port', '0', '--home', home.path], {
    cwd: ROOT,
    env: plainEnv(),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  for await (const text of child.stdout.setEncoding('utf8')) {
    printed += text;
    if (printed.includes('listening on')) break;
  }
  const took = performance.now() - began;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
  return took;
}

async function bareNpm(): Promise<number> {
  const began = performance.now();
  await once(spawn('npm', ['--version'], { stdio: 'ignore' }), 'exit');
  return performance.now() - began;
}
