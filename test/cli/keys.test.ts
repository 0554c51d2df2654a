import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { httpRelay } from '../../src/sdk/http-relay.ts';
import { makeCertificate } from '../security/certificate.ts';
import { cleanEnv, ENTRY, NODE, relay, temporaryHome } from './program.ts';

const [here, away] = [temporaryHome(), temporaryHome()];
let server: ChildProcess | null = null;
after(() => {
  server?.kill('SIGKILL');
  here[Symbol.dispose]();
  away[Symbol.dispose]();
});

async function up(): Promise<string> {
  const env = cleanEnv({ home: here.home });
  const child = spawn(NODE, [ENTRY, 'up', '--port', '0', '--auth', '--json'], { env });
  server = child;
  const [line] = await once(child.stdout, 'data');
  return JSON.parse(String(line)).url;
}

test('keys are created, listed, rotated and revoked on the store and over HTTP', async () => {
  const admin = await relay(['keys', 'create', 'admin', '--scopes', 'admin,push'], { home: here.home });
  assert.match(admin.stdout, /^cr_live_\w{40}\n$/);
  const url = await up();
  const remote = (key: string) => ({
    home: away.home,
    env: { CONTEXTRELAY_URL: url, CONTEXTRELAY_API_KEY: key },
  });
  const asAdmin = remote(admin.stdout.trim());
  const created = JSON.parse(
    (await relay(['keys', 'create', 'ci', '--expires', '2h', '--channel-prefix', 'b.', '--json'], asAdmin))
      .stdout,
  );
  assert.deepEqual([created.name, created.channel_prefix, created.plan], ['ci', 'b.', 'unlimited']);
  const pushed = await relay(['push'], { ...remote(created.key), stdin: 'hello' });
  assert.equal(pushed.code, 0, pushed.stderr);
  assert.equal((await relay(['pull', pushed.stdout.trim()], remote(created.key))).stdout, 'hello');
  assert.equal((await relay(['pull', pushed.stdout.trim()], { home: away.home })).code, 3);
  for (const options of [{ home: here.home }, asAdmin]) {
    const { keys } = JSON.parse((await relay(['keys', 'list', '--json'], options)).stdout);
    assert.deepEqual(keys.map((key: { name: string }) => key.name).sort(), ['admin', 'ci']);
  }
  const rotated = await relay(['keys', 'rotate', created.id], asAdmin);
  assert.match(rotated.stdout, /^cr_live_/);
  const refused = await relay(['push'], { ...remote(created.key), stdin: 'x' });
  assert.equal(refused.code, 4);
  assert.match(refused.stderr, /API key/);
  assert.doesNotMatch(refused.stderr, /cr_live_\w/);
  const unable = await relay(['keys', 'list'], remote(rotated.stdout.trim()));
  assert.equal(unable.code, 4);
  assert.match(unable.stderr, /scope "admin"/);
  const { keys } = JSON.parse((await relay(['keys', 'list', '--json'], asAdmin)).stdout);
  const next = keys.find((key: { name: string }) => key.name === 'ci');
  const api = httpRelay({ baseUrl: url, apiKey: rotated.stdout.trim() });
  const { thread_id } = await api.threads.create();
  for (const _ of [1, 2]) await api.shares.create({ thread_id });
  assert.match(
    (await relay(['keys', 'revoke', next.id], { home: here.home })).stdout,
    /^revoked key_\w+ \(ci\), and 2 share links that it created\n$/,
  );
  assert.equal((await relay(['push'], { ...remote(rotated.stdout.trim()), stdin: 'x' })).code, 4);
  const usage = JSON.parse((await relay(['usage', '--json'], asAdmin)).stdout);
  assert.deepEqual([usage.tenant, usage.plan, usage.pushes.used], ['local', 'unlimited', 1]);
  const csv = (await relay(['usage', '--csv'], { home: here.home })).stdout;
  assert.match(csv, /^day,tenant,key,operation,count,bytes\n.*,local,key_\w+,push,1,5\n/);
});

test('invalid key options are rejected with the valid values', async () => {
  const { home } = away;
  const scopes = await relay(['keys', 'create', 'x', '--scopes', 'root'], { home });
  assert.deepEqual([scopes.code, /push, pull, subscribe/.test(scopes.stderr)], [2, true]);
  assert.equal((await relay(['keys', 'revoke', 'key_0123456789abcdef'], { home })).code, 3);
  assert.equal((await relay(['keys', 'create', 'x', '--plan', 'gold'], { home })).code, 2);
  assert.equal((await relay(['up', '--auth', '--open'], { home })).code, 2);
  assert.equal((await relay(['up', '--tls-cert', 'cert.pem'], { home })).code, 2);
});

test('a background server serves https and prints its key, but not in the log', async (t) => {
  using certificate = makeCertificate();
  if (!certificate) return t.skip('there is no openssl to make a certificate with');
  using place = temporaryHome();
  const flags = ['--tls-cert', certificate.cert, '--tls-key', certificate.key, '--auth'];
  const started = await relay(['up', '-d', '--port', '0', '--json', ...flags], { home: place.home });
  assert.equal(started.code, 0, started.stderr);
  const { url, admin_key, log } = JSON.parse(started.stdout);
  assert.match(url, /^https:/);
  assert.match(admin_key, /^cr_live_/);
  assert.ok(!readFileSync(log, 'utf8').includes(admin_key));
  const status = JSON.parse((await relay(['status', '--json'], { home: place.home })).stdout);
  assert.equal(status.healthy, true);
  assert.equal((await relay(['down'], { home: place.home })).code, 0);
});
