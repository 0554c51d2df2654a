import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isAlive } from '../../src/app/serve/pid-file.ts';
import { AgentBridge } from '../../src/client/bridge/agent-bridge.ts';
import { startTestServer } from '../channels/server.ts';
import { relay, temporaryHome } from '../cli/program.ts';
import { until } from '../until.ts';
import { agent, client, startWorker } from './bridge.ts';
import { startProgram } from './processes.ts';

test('without a server, one process sends a task, another does it, and any process can see it', async () => {
  using scratch = temporaryHome();
  const { home } = scratch;
  const early = await relay(['bridge', 'send', 'count the words'], { home });
  assert.match(early.stderr, /No bridge reads from/);
  const id = early.stdout.trim();
  assert.match((await relay(['task', 'list'], { home })).stdout, new RegExp(`${id}  queued`));
  {
    await using bridge = startProgram(['bridge', 'start', '--exec', 'wc -l', '--name', 'counter'], { home });
    await bridge.line(new RegExp(`${id}  done`));
    assert.match((await relay(['agents'], { home })).stdout, /counter +alive +exec wc -l/);
    assert.equal((await relay(['bridge', 'status', 'counter'], { home })).code, 0);
    const waited = await relay(['bridge', 'send', '--wait', '--to', 'counter', 'one\ntwo'], { home });
    assert.equal(waited.code, 0, waited.stderr);
    assert.match(waited.stdout, /^\d+\n$/);
    bridge.child.kill('SIGTERM');
    assert.equal((await bridge.ended).code, 0);
  }
  const taskDetails = JSON.parse((await relay(['task', 'show', id, '--json'], { home })).stdout);
  assert.equal(taskDetails.state, 'done');
  assert.ok(taskDetails.receipts.some(({ rung }: { rung: string }) => rung === 'pulled'));
  assert.equal((await relay(['task', 'wait', id], { home })).code, 0);
  assert.equal((await relay(['bridge', 'status', 'counter'], { home })).code, 3);
});

test('an agent submits its result once with a command, and a failed task sets the exit code', async () => {
  using scratch = temporaryHome();
  const { home } = scratch;
  const send = async () => (await relay(['bridge', 'send', 'x'], { home })).stdout.trim();
  const one = await send();
  const done = await relay(['task', 'done', one, '-'], { home, stdin: 'line one\nline two' });
  assert.equal(done.code, 0, done.stderr);
  assert.equal((await relay(['task', 'wait', one], { home })).stdout, 'line one\nline two\n');
  assert.equal((await relay(['task', 'fail', one, 'no'], { home })).code, 1);
  const two = await send();
  assert.equal((await relay(['task', 'fail', two, 'it broke'], { home })).code, 0);
  const waited = await relay(['task', 'wait', two], { home });
  assert.deepEqual([waited.code, waited.stdout], [1, 'it broke\n']);
  assert.equal((await relay(['task', 'wait', await send(), '--timeout', '0.1'], { home })).code, 5);
  assert.equal((await relay(['task', 'show', crypto.randomUUID()], { home })).code, 3);
});

test('sending warns differently if the agent reads another channel and if no such agent exists', async () => {
  using scratch = temporaryHome();
  const { home } = scratch;
  await using server = await startTestServer();
  const env = { CONTEXTRELAY_URL: server.url };
  await using _ = await startWorker(
    server,
    agent(() => ({ output: 'x' })),
    { name: 'anna', taskChannel: 'hers' },
  );
  const send = (...args: string[]) => relay(['bridge', 'send', 'x', ...args], { home, env });
  assert.match(
    (await send('--to', 'anna')).stderr,
    /anna reads tasks from hers, not from agent-tasks\. Use --task-channel hers/,
  );
  assert.match((await send('--to', 'bert')).stderr, /No bridge called bert reads from/);
  assert.equal((await send('--to', 'anna', '--task-channel', 'hers')).stderr, '');
});

test('a wrong command line is rejected with what is missing', async () => {
  using scratch = temporaryHome();
  const { home } = scratch;
  const none = await relay(['bridge', 'start'], { home });
  assert.equal(none.code, 2);
  assert.match(none.stderr, /--tmux TARGET, --exec CMD, --acp CMD, --a2a URL or --pipelines DIR/);
  assert.equal((await relay(['bridge', 'start', '--exec', 'a', '--tmux', 'b'], { home })).code, 2);
  assert.equal((await relay(['task', 'list', '--state', 'lost'], { home })).code, 2);
});

test('another bridge does the task of a bridge that was killed', async () => {
  using scratch = temporaryHome();
  await using server = await startTestServer({ channels: { leaseMs: 1_000 } });
  const env = { CONTEXTRELAY_URL: server.url };
  const bridge = new AgentBridge(client(server));
  await using doomed = startProgram(
    ['bridge', 'start', '--exec', 'echo $$ > pid; exec sleep 600', '--name', 'doomed'],
    { home: scratch.home, env },
  );
  const waiting = bridge.sendAndWait('survive', { timeout: 60_000 });
  await doomed.line(/from local/);
  const pid = await waitForLine(join(scratch.home, 'pid'));
  doomed.child.kill('SIGKILL');
  await doomed.ended;
  await using next = await startWorker(
    server,
    agent(({ text }) => ({ output: `the next one did: ${text}` })),
  );
  assert.equal((await waiting).text, 'the next one did: survive');
  assert.ok(next.events.some((event) => event.type === 'task' && event.attempt === 2));
  // On systems with process groups, the processes that the killed bridge had started end too.
  if (process.platform === 'win32') process.kill(Number(pid), 'SIGKILL');
  await waitForEnd(Number(pid));
});

async function waitForEnd(pid: number): Promise<void> {
  await until(() => !isAlive({ pid, birth: null }));
}

async function waitForLine(path: string): Promise<string> {
  for (;;) {
    const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
    if (text.endsWith('\n')) return text;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test('after a sender is killed, the result can be fetched by task id', async () => {
  using scratch = temporaryHome();
  const { home } = scratch;
  await using server = await startTestServer();
  const env = { CONTEXTRELAY_URL: server.url };
  const begun = Promise.withResolvers<string>();
  const finish = Promise.withResolvers<void>();
  await using _ = await startWorker(
    server,
    agent(async ({ id }) => {
      begun.resolve(id);
      await finish.promise;
      return { output: 'worth waiting for' };
    }),
  );
  await using sender = startProgram(['bridge', 'send', '--wait', 'long work'], { home, env });
  const id = await begun.promise;
  sender.child.kill('SIGKILL');
  await sender.ended;
  finish.resolve();
  const again = await relay(['task', 'wait', id], { home, env });
  assert.equal(again.stdout, 'worth waiting for\n');
});
