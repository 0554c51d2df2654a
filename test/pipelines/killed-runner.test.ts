import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isAlive } from '../../src/app/serve/pid-file.ts';
import { startProgram } from '../bridge/processes.ts';
import { relay, temporaryHome } from '../cli/program.ts';
import { until } from '../until.ts';

const skip = process.platform === 'win32' ? 'there are no groups of processes' : false;

/**
 * The first execution of this step runs forever and ignores SIGTERM. The second prints `beside` if the first still runs.
 * A zombie counts as ended.
 */
const STEP = `
      if [ -e pids ]; then
        for pid in $(cat pids); do
          kill -0 $pid 2>/dev/null && ! grep -q '^State:.Z' /proc/$pid/status 2>/dev/null && echo beside
        done
        echo over
        exit
      fi
      trap '' TERM
      sleep 600 &
      echo $$ $! > pids.new
      mv pids.new pids
      wait`;

test('a killed runner leaves no step running next to the runner that replaces it', {
  skip,
}, async () => {
  using scratch = temporaryHome();
  const { home } = scratch;
  const file = join(home, 'once.yaml');
  writeFileSync(
    file,
    `name: once\nagents: { sh: { shell: true } }\nsteps:\n  - id: long\n    agent: sh\n    prompt: |${STEP}\n`,
  );
  await using runner = startProgram(['pipeline', 'run', file], { home });
  const noted = join(home, 'pids');
  await until(() => existsSync(noted));
  const pids = readFileSync(noted, 'utf8').trim().split(' ').map(Number);
  runner.child.kill('SIGKILL');
  await runner.ended;
  await until(() => !pids.some((pid) => isAlive({ pid, birth: null })));
  const resumed = await relay(['pipeline', 'run', file, '--resume'], { home });
  assert.equal(resumed.code, 0, resumed.stderr);
  assert.equal(resumed.stdout.trim(), 'over');
});
