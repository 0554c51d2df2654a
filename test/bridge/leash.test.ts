import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { isAlive } from '../../src/app/serve/pid-file.ts';
import { startSupervised } from '../../src/runners/processes.ts';
import { until } from '../until.ts';

const HOLDER = resolve(import.meta.dirname, 'scripts/leash-holder.ts');
const skip = process.platform === 'win32' ? 'there are no groups of processes' : false;

const shell = (command: string) => startSupervised({ command }, { env: process.env, graceful: true });

const isRunning = (pid: number) => isAlive({ pid, birth: null });

async function waitForExit(
  child: ReturnType<typeof startSupervised>,
): Promise<{ out: string; code: number | null; signal: string | null }> {
  let out = '';
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  child.stdin.end();
  const [code, signal] = await once(child, 'close');
  return { out, code, signal };
}

test('when the parent process is killed, its command and all child processes end', {
  skip,
}, async () => {
  // Neither the command nor its child ends on SIGTERM.
  const command = 'trap "" TERM; sleep 600 & echo $$ $!; wait';
  const holder = spawn(process.execPath, [HOLDER, command], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(createInterface(holder.stdout), 'line')) as [string];
  const pids = line.split(' ').map(Number);
  assert.ok(pids.every(isRunning));
  holder.kill('SIGKILL');
  await until(() => !pids.some(isRunning));
});

test('output and exit status of a command are the same as in a shell', { skip }, async () => {
  assert.deepEqual(await waitForExit(shell('echo one; exit 3')), {
    out: 'one\n',
    code: 3,
    signal: null,
  });
  assert.deepEqual(await waitForExit(shell('kill -9 $$')), {
    out: '',
    code: null,
    signal: 'SIGKILL',
  });
  const child = shell('cat; echo "$0 $#"');
  child.stdin.write("it's $HOME\n");
  assert.equal((await waitForExit(child)).out, "it's $HOME\n/bin/sh 0\n");
  // `wait` returns at once, because the supervisor is no child of the command. The command inherits no extra file
  // descriptor.
  assert.equal((await waitForExit(shell('wait; (: <&3) 2>/dev/null || echo none'))).out, 'none\n');
});

test('background processes of a finished command keep running, as in a shell', {
  skip,
}, async () => {
  const { out, code } = await waitForExit(shell('sleep 600 >/dev/null 2>&1 & echo $!'));
  assert.equal(code, 0);
  const pid = Number(out);
  assert.ok(isRunning(pid));
  process.kill(pid, 'SIGKILL');
});
