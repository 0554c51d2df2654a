import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { request } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { httpRelay } from '../../src/sdk/http-relay.ts';
import { cleanEnv } from '../cli/program.ts';
import { until } from '../until.ts';
import { SCRIPTS, startDev } from './dev-server.ts';

/** Runs `npm run dev:cloudflare` and waits until it exits. */
const dev = (...args: string[]) =>
  spawnSync(process.execPath, [join(SCRIPTS, 'dev.ts'), ...args], { encoding: 'utf8', timeout: 60_000 });

/** Sends a request on a new connection. workerd closes a connection whose request it did not read completely. */
function statusOf(url: string, method: string, headers: { [name: string]: string }): Promise<number> {
  return new Promise((resolve, reject) =>
    request(url, { method, headers, agent: false }, (answer) => resolve(answer.resume().statusCode!))
      .on('error', reject)
      .end(method === 'POST' ? 'x' : undefined),
  );
}

test('wrong usage prints one line and exits with 2, and --help prints help', () => {
  for (const args of [['--nope'], ['word'], ['--port', 'abc'], ['--port', '99999'], ['--port', '']]) {
    const { status, stdout, stderr } = dev(...args);
    assert.deepEqual([status, stdout], [2, ''], args.join(' ') + stderr);
    assert.match(stderr, /^[^\n]*(--nope|word|--port)[^\n]*\n$/);
  }
  const { status, stdout } = dev('--help');
  assert.equal(status, 0);
  assert.match(stdout, /Examples\n {2}npm run dev:cloudflare/);
});

test('a port in use prints one line that names a free port', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1');
  t.after(() => taken.close());
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  const { status, stderr } = dev('--port', String(port));
  assert.equal(status, 1);
  assert.match(stderr, new RegExp(`^Port ${port} of 127\\.0\\.0\\.1 is in use; .*--port \\d+\\n$`));
});

test('it accepts only loopback host names and leaves no files', async (t) => {
  const { url, said, temporary, program } = await startDev(t);
  assert.match(said.errors, /building/);
  const rebound = { Host: 'evil.example', Origin: 'http://evil.example' };
  assert.equal(await statusOf(`${url}/push`, 'POST', rebound), 403);
  assert.equal(await statusOf(`${url}/push`, 'POST', { Origin: url }), 200);

  program.kill('SIGINT');
  program.kill('SIGINT');
  await once(program, 'exit');
  assert.deepEqual(readdirSync(temporary), []);
});

test('with --keys it prints an admin key and the command that creates the first key', async (t) => {
  const { url, said, temporary } = await startDev(t, ['--keys']);
  assert.equal((await fetch(`${url}/channels`)).status, 401);
  await until(() => said.out.endsWith('alice\n'));
  const command = /^ {2}(CONTEXTRELAY_URL=.* keys create alice)$/m.exec(said.out)![1]!;
  const made = spawnSync(command, {
    cwd: join(SCRIPTS, '..', '..'),
    shell: true,
    encoding: 'utf8',
    env: cleanEnv({ home: temporary }),
  });
  assert.equal(made.status, 0, made.stderr);
  assert.match(made.stdout, /cr_live_/);
});

test('with --keys RELAY_ADMIN_KEY is the admin key, and is not printed', async (t) => {
  const apiKey = 'an-admin-key-for-this-test-alone';
  const { url, said } = await startDev(t, ['--keys'], { RELAY_ADMIN_KEY: apiKey });
  const { key } = await httpRelay({ baseUrl: url, apiKey }).keys.create({ name: 'alice' });
  assert.match(key, /^cr_live_/);
  assert.ok(!said.out.includes(apiKey), said.out);
});
