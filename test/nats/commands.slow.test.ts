import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { cleanEnv, ENTRY, NODE, relay, temporaryHome } from '../cli/program.ts';
import { until } from '../until.ts';
import { type Cluster, findNatsServer, startCluster } from './cluster.ts';

const natsServer = await findNatsServer();
const skip = 'missing' in natsServer ? natsServer.missing : false;

let cluster: Cluster;
const children: ChildProcess[] = [];

before(async () => {
  // `accountBytes` creates an account with a user, so that tests below can log in with a password.
  if (!skip) cluster = await startCluster({ fsync: false, accountBytes: 2 ** 30 });
});
after(async () => {
  for (const child of children) if (child.exitCode === null) child.kill('SIGKILL');
  await cluster?.[Symbol.asyncDispose]();
});

const newStore = (login = '') =>
  `${cluster.url.replace('nats://', `nats://${login}`)}/t${randomUUID().slice(0, 8)}`;

/** Starts `relay up` and returns its first output and its URL. */
async function up(home: string, flags: string[], env: { [name: string]: string } = {}) {
  const child = spawn(NODE, [ENTRY, 'up', '--port', '0', ...flags], {
    env: cleanEnv({ home, env }),
    cwd: home,
  });
  children.push(child);
  let output = '';
  const listens = new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        output += chunk;
        if (output.includes('Ctrl-C')) resolve();
      });
    }
  });
  await Promise.race([listens, once(child, 'close')]);
  const url = /listening on (\S+)/.exec(output)?.[1];
  assert.ok(url, output);
  return { child, output, url };
}

test('commands in a home use the cluster of the server that runs there', { skip }, async () => {
  using place = temporaryHome();
  const { home } = place;
  const engine = newStore();
  const { output, url } = await up(home, ['--auth', '--engine', engine]);
  assert.match(output, new RegExp(`data in\\s+${engine}`));
  const admin = /cr_live_\w+/.exec(output)![0];
  const fetchAs = (path: string, key: string) =>
    fetch(`${url}${path}`, { headers: { Authorization: `Bearer ${key}` } });

  const result = await relay(['keys', 'create', 'laptop', '--json'], { home });
  assert.equal(result.code, 0, result.stderr);
  assert.equal((await fetchAs('/keys/self', JSON.parse(result.stdout).key)).status, 200);
  const pushed = await relay(['push'], { home, stdin: 'from a command' });
  const id = pushed.stdout.trim().split('/').at(-1);
  assert.equal(await (await fetchAs(`/pull/${id}?raw=1`, admin)).text(), 'from a command');
  const status = await relay(['status', '--json'], { home });
  assert.match(JSON.parse(status.stdout).store.engine, /^NATS/);
  const doctor = await relay(['doctor'], { home });
  assert.match(doctor.stdout, new RegExp(`stores data in ${engine}`));
  assert.ok(!existsSync(join(home, 'relay.db')), 'no second store was made');

  const other = await relay(['push'], { home, stdin: 'x', env: { RELAY_ENGINE: newStore() } });
  assert.equal(other.code, 2, other.stderr);
  assert.match(other.stderr, new RegExp(`stores its data in ${engine}`));
});

test('a password comes from a file or the environment and is never shown, and commands without it say what to set', {
  skip,
}, async () => {
  using place = temporaryHome();
  const { home } = place;
  const engine = newStore('relay:relay@');
  const maskedUrl = engine.replace('relay:relay@', '***@');
  const file = join(home, 'cluster.txt');
  writeFileSync(file, `${engine}\n`, { mode: 0o600 });
  const { child, output } = await up(home, ['--engine-file', file]);
  assert.ok(output.includes(maskedUrl), output);
  assert.match(output, /RELAY_ENGINE/, 'the commands that it names need the address');
  const visibleText = [output, readFileSync(join(home, 'server.json'), 'utf8')].join();
  assert.ok(!visibleText.includes('relay:relay@'), visibleText);
  if (process.platform === 'linux')
    assert.ok(!readFileSync(`/proc/${child.pid}/cmdline`, 'utf8').includes('relay:relay@'));

  for (const args of [['push'], ['keys', 'create', 'x'], ['prune']]) {
    const refused = await relay(args, { home, stdin: 'x' });
    assert.equal(refused.code, 2, refused.stderr);
    assert.ok(refused.stderr.includes(maskedUrl), refused.stderr);
    assert.match(refused.stderr, /RELAY_ENGINE|engine_file/);
  }
  const status = await relay(['status'], { home });
  assert.match(status.stdout, /healthy/);
  assert.ok(status.stdout.includes(maskedUrl), status.stdout);
  const doctor = await relay(['doctor'], { home });
  assert.equal(doctor.code, 1);
  assert.match(doctor.stdout, /engine_file/);
  assert.ok(!existsSync(join(home, 'relay.db')), 'no second store was made');

  assert.equal((await relay(['config', 'set', 'engine_file', file], { home })).code, 0);
  const pushed = await relay(['push'], { home, stdin: 'from a command' });
  assert.equal(pushed.code, 0, pushed.stderr);
  const pulled = await relay(['pull', pushed.stdout.trim()], { home, env: { RELAY_ENGINE: engine } });
  assert.equal(pulled.stdout, 'from a command', 'a variable wins over the file');
});

test('a password in --engine causes a warning', { skip }, async () => {
  using place = temporaryHome();
  const { output } = await up(place.home, ['--engine', newStore('relay:relay@')]);
  assert.match(output, /--engine.*ps/s);
  assert.ok(!output.includes('relay:relay@'), output);
});

test('a server that starts without a quorum says what it waits for, and serves when the nodes are back', {
  skip,
  timeout: 120_000,
}, async () => {
  using place = temporaryHome();
  await using ownCluster = await startCluster({ fsync: false });
  const home = place.home;
  await relay(['push'], { home, stdin: 'x', env: { RELAY_ENGINE: ownCluster.url } });
  const [, second, third] = ownCluster.nodes;
  await Promise.all([second!.stop(), third!.stop()]);
  const child = spawn(NODE, [ENTRY, 'up', '--port', '0', '--engine', ownCluster.url], {
    env: cleanEnv({ home }),
    cwd: home,
  });
  children.push(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  await until(() => /Waiting until more than half of the nodes run/.test(output), {
    everyMs: 100,
    timeoutMs: 60_000,
  });
  assert.doesNotMatch(output, /listening/);
  await second!.start();
  await until(() => /listening on/.test(output), { everyMs: 100, timeoutMs: 60_000 });
});
