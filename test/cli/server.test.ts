import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { until } from '../until.ts';
import { cleanEnv, ENTRY, NODE, relay, temporaryHome } from './program.ts';

const places = [temporaryHome(), temporaryHome(), temporaryHome(), temporaryHome()] as const;
const [first, second, third, fourth] = places.map((place) => place.home) as [string, string, string, string];
const children: ChildProcess[] = [];
after(async () => {
  for (const child of children) if (child.exitCode === null) child.kill('SIGKILL');
  for (const place of places) place[Symbol.dispose]();
});

interface Up {
  readonly child: ChildProcess;
  readonly url: string;
  readonly output: () => string;
}

/** Starts `relay up` in the foreground and waits until it prints its address. */
async function up(home: string, ...flags: string[]): Promise<Up> {
  const child = spawn(NODE, [ENTRY, 'up', '--port', '0', ...flags], {
    env: cleanEnv({ home }),
    cwd: home,
  });
  children.push(child);
  let output = '';
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (chunk) => {
      output += chunk;
      const match = /listening on (http:\S+)/.exec(output);
      if (match) resolve(match[1]!);
    });
    child.stderr.on('data', (chunk) => {
      output += chunk;
    });
    child.once('exit', (code) => reject(new Error(`ended with ${code}: ${output}`)));
  });
  return { child, url, output: () => output };
}

test('relay up serves the local store until it is stopped', async () => {
  const { child, url, output } = await up(first);
  assert.match(output(), new RegExp(`data in +${first}`));
  assert.match(output(), /\| relay push\n/);
  assert.equal((await (await fetch(`${url}/health`)).json()).status, 'ok');
  assert.match(await (await fetch(`${url}/metrics`)).text(), /^relay_scrub_damaged 0$/m);

  const local = (await relay(['push'], { home: first, stdin: 'made without the server' })).stdout.trim();
  assert.ok(local.startsWith(`${url}/pull/`), `${local} is where the server serves it`);
  assert.equal(await (await fetch(`${local}?raw=1`)).text(), 'made without the server');

  const remote = (
    await relay(['push', '--url', url], { home: second, stdin: 'made over HTTP' })
  ).stdout.trim();
  assert.equal((await relay(['pull', remote], { home: first })).stdout, 'made over HTTP');
  assert.equal((await relay(['pull', remote], { home: second })).stdout, 'made over HTTP');
  const viaVariable = await relay(['peek', remote], { home: second, env: { CONTEXTRELAY_URL: url } });
  assert.equal(viaVariable.stdout, '{}\n');

  const status = JSON.parse((await relay(['status', '--json'], { home: first })).stdout);
  assert.equal(status.running, true);
  assert.equal(status.healthy, true);
  assert.equal(status.server.pid, child.pid);

  const again = await relay(['up', '--port', '0'], { home: first });
  assert.equal(again.code, 1);
  assert.match(again.stderr, new RegExp(`already serves this home: ${url} \\(pid ${child.pid}\\)`));
  const detached = await relay(['up', '--detach'], { home: first });
  assert.equal(detached.code, 0);
  assert.match(detached.stdout, /^already running on http/);

  const ended = once(child, 'exit');
  child.kill('SIGINT');
  assert.deepEqual(await ended, [0, null]);
  assert.ok(!existsSync(join(first, 'server.json')));
  assert.equal((await relay(['pull', local], { home: first })).stdout, 'made without the server');
  assert.equal((await relay(['status', '--url', url], { home: first })).code, 5);
});

test('if two servers start on one home, one serves and the other reports it', async () => {
  const outcomes = await Promise.allSettled([up(second), up(second)]);
  const serving = outcomes.filter((outcome) => outcome.status === 'fulfilled');
  const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
  assert.equal(serving.length, 1, JSON.stringify(outcomes));
  assert.match(String(refused[0]!.reason), /ended with 1: .*already serves this home/s);
  const down = await relay(['down'], { home: second });
  assert.equal(down.code, 0);
  assert.match(down.stdout, /^stopped http/);
  assert.match((await relay(['down'], { home: second })).stdout, /^no relay server runs/);
});

test('a background server answers before relay up returns, writes a log, and leaves a stale file only if killed', async () => {
  const started = await relay(['up', '-d', '--port', '0', '--json'], { home: third });
  assert.equal(started.code, 0, started.stderr);
  const { pid, url, log } = JSON.parse(started.stdout);
  assert.equal((await fetch(`${url}/health`)).status, 200);
  assert.match(readFileSync(log, 'utf8'), /listening on/);

  process.kill(pid, 'SIGKILL');
  await until(() => !alive(pid));
  assert.ok(existsSync(join(third, 'server.json')));
  assert.equal(JSON.parse((await relay(['status', '--json'], { home: third })).stdout).running, false);
  const doctor = await relay(['doctor'], { home: third });
  assert.match(doctor.stdout, new RegExp(`pid ${pid}\\) ended unexpectedly`));

  const restarted = await relay(['up', '--detach', '--port', '0'], { home: third });
  assert.equal(restarted.code, 0, restarted.stderr);
  assert.match(restarted.stderr, /ended unexpectedly/);
  assert.equal((await relay(['down'], { home: third })).code, 0);
});

test('the log of a server in the background is rotated while it runs', async () => {
  using place = temporaryHome();
  const { home } = place;
  const log = join(home, 'server.log');
  writeFileSync(join(home, 'config.json'), '{"log_requests": true}');
  writeFileSync(log, `${'x'.repeat(8 * 1024 * 1024 - 10)}\n`, { mode: 0o600 });
  const { url } = JSON.parse((await relay(['up', '-d', '--port', '0', '--json'], { home })).stdout);
  try {
    await until(async () => (await fetch(url)).ok && existsSync(`${log}.1`));
    await until(async () => (await fetch(url)).ok && /"event":"request"/.test(readFileSync(log, 'utf8')));
    assert.ok(statSync(log).size < 1024 * 1024);
    assert.match(readFileSync(`${log}.1`, 'utf8').slice(0, 100), /^x+$/);
    assert.equal(statSync(`${log}.1`).mode & 0o777, 0o600);
  } finally {
    await relay(['down'], { home });
  }
});

test('the error for a taken port names its owner and a free port, in foreground and background', async () => {
  // Ignore socket errors: a client may end its connection with a reset.
  const squatter = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1');
  await once(squatter, 'listening');
  const { port } = squatter.address() as { port: number };
  try {
    for (const flags of [[], ['--detach']]) {
      const { code, stdout, stderr } = await relay(['up', '--port', String(port), ...flags], {
        home: fourth,
      });
      assert.equal(code, 1);
      assert.equal(stdout, '');
      assert.match(
        stderr,
        new RegExp(`Port ${port} on 127\\.0\\.0\\.1 is in use by .*\\(pid ${process.pid}\\)`),
      );
      const other = /Use: relay up --port (\d+)/.exec(stderr)?.[1];
      assert.ok(Number(other) > port, stderr);
    }
  } finally {
    squatter.close();
  }
  const relayThere = await up(fourth);
  const usedPort = new URL(relayThere.url).port;
  const { stderr } = await relay(['up', '--port', usedPort], { home: first });
  assert.match(stderr, /is in use by a relay .*\n.*Use that relay: --url http:\/\/127\.0\.0\.1:/);
  relayThere.child.kill('SIGTERM');
  await once(relayThere.child, 'exit');
});

test('a server that others can reach requires keys and prints the first one once, unless it is open', async () => {
  const guarded = await up(first, '--host', '0.0.0.0');
  const key = /admin key +(cr_live_\w+)/.exec(guarded.output())![1]!;
  assert.equal((await fetch(`${guarded.url}/health`)).status, 200);
  assert.equal((await fetch(`${guarded.url}/keys`)).status, 401);
  const headers = { Authorization: `Bearer ${key}` };
  assert.equal((await fetch(`${guarded.url}/keys`, { headers })).status, 200);
  guarded.child.kill('SIGTERM');
  await once(guarded.child, 'exit');
  const again = await up(first, '--auth');
  assert.doesNotMatch(again.output(), /cr_live_/);
  assert.equal((await fetch(`${again.url}/keys`, { headers })).status, 200);
  again.child.kill('SIGTERM');
  await once(again.child, 'exit');
  const open = await up(first, '--host', '0.0.0.0', '--open');
  assert.match(open.output(), /warning Everyone who can reach 0\.0\.0\.0/);
  assert.equal((await fetch(`${open.url}/keys`)).status, 200);
  open.child.kill('SIGTERM');
  await once(open.child, 'exit');
});

test('a wrong configuration is named by file and key, and doctor still works', async () => {
  writeFileSync(join(fourth, 'config.json'), '{"prot": 7474}');
  const { code, stderr } = await relay(['du'], { home: fourth });
  assert.equal(code, 2);
  assert.match(stderr, /config\.json, "prot": there is no such option/);
  const doctor = await relay(['doctor'], { home: fourth });
  assert.equal(doctor.code, 1);
  assert.match(doctor.stdout, /wrong +configuration: .*"prot"/);
  assert.equal((await relay(['version'], { home: fourth })).code, 0);
});

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
