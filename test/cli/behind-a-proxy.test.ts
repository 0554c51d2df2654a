import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { parse } from 'yaml';
import { type Environment, loadConfig } from '../../src/app/config.ts';
import { authOf } from '../../src/app/serve/addresses.ts';
import { cleanEnv, ENTRY, NODE, relay, temporaryHome } from './program.ts';

const place = temporaryHome();
const children: ChildProcess[] = [];
after(() => {
  for (const child of children) if (child.exitCode === null) child.kill('SIGKILL');
  place[Symbol.dispose]();
});

const BEHIND_A_PROXY = ['--public-url', 'https://relay.example', '--trust-proxy', 'loopback'];

/** Runs `relay up` with these flags on a free loopback port until `use` returns. */
async function whileUp(
  flags: readonly string[],
  use: (url: string, output: () => string) => Promise<void>,
): Promise<void> {
  const child = spawn(NODE, [ENTRY, 'up', '--port', '0', ...flags], {
    env: cleanEnv(place),
    cwd: place.home,
  });
  children.push(child);
  let output = '';
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr.on('data', (chunk) => {
      output += chunk;
    });
    child.stdout.on('data', (chunk) => {
      output += chunk;
      const match = /listening on (http:\S+)/.exec(output);
      if (match) resolve(match[1]!);
    });
    child.once('exit', (code) => reject(new Error(`ended with ${code}: ${output}`)));
  });
  try {
    await use(url, () => output);
  } finally {
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
}

test('behind a proxy a relay requires keys, and its start explains why and how to create one', async () => {
  const pointer = (await relay(['push'], { home: place.home, stdin: 'from before' })).stdout.trim();
  await whileUp(BEHIND_A_PROXY, async (url, output) => {
    // Send the request as a proxy on this machine would forward it.
    const headers = { Host: 'relay.example', 'X-Forwarded-For': '203.0.113.9' };
    assert.equal((await fetch(`${url}/keys`, { headers })).status, 401);
    assert.equal((await fetch(`${url}/pointers`, { headers })).status, 401);
    assert.equal((await fetch(`${url}/push`, { method: 'POST', body: 'x', headers })).status, 401);
    assert.match(output(), /requires API keys, because others can reach it at https:\/\/relay\.example/);
    assert.match(output(), /relay keys create NAME/);
    assert.match(output(), /--open/);
    const key = /admin key +(cr_live_\w+)/.exec(output())![1]!;
    const asAdmin = { Authorization: `Bearer ${key}` };
    assert.equal((await fetch(`${url}/keys`, { headers: asAdmin })).status, 200);
    const id = pointer.slice(pointer.lastIndexOf('/'));
    assert.equal(await (await fetch(`${url}/pull${id}?raw=1`, { headers })).text(), 'from before');
  });
  await whileUp(BEHIND_A_PROXY, async (_url, output) => {
    assert.doesNotMatch(output(), /cr_live_|because others can reach it/, 'said once');
  });
});

test('relay up --open warns that everyone can read and write', async () => {
  await whileUp([...BEHIND_A_PROXY, '--open'], async (url, output) => {
    assert.match(output(), /warning Everyone who can reach https:\/\/relay\.example can read and write/);
    assert.equal((await fetch(`${url}/keys`)).status, 200);
    const self = (await (await fetch(`${url}/keys/self`)).json()) as { exposed: boolean };
    assert.equal(self.exposed, true);
  });
  await whileUp([], async (url, output) => {
    assert.doesNotMatch(output(), /warning/);
    const self = (await (await fetch(`${url}/keys/self`)).json()) as { exposed: boolean };
    assert.equal(self.exposed, false);
  });
});

test('config check warns of an open relay that others can reach', async () => {
  const settings = { auth: 'open', trusted_proxies: ['loopback'] };
  writeFileSync(join(place.home, 'config.json'), JSON.stringify(settings));
  const { stdout } = await relay(['config', 'check'], { home: place.home });
  assert.match(
    stdout,
    /config\.json:1, auth.*everyone who can reach the proxy at loopback can read and write/s,
  );
  writeFileSync(join(place.home, 'config.json'), '{"allowed_hosts": ["relay.example"]}');
  const result = await relay(['config', 'check'], { home: place.home });
  assert.match(result.stdout, /allowed_hosts.*everyone who can reach relay\.example can read and write/s);
  writeFileSync(join(place.home, 'config.json'), '{}');
});

/** Returns whether a relay with these variables and flags requires keys. */
function asks(env: Environment, flags: { host?: string; publicUrl?: string; trustProxy?: string[] } = {}) {
  const config = loadConfig({ RELAY_HOME: place.home, ...env });
  return authOf(config, { ...flags, host: flags.host ?? config.host });
}

test('keys are required if others can reach the relay, unless it is configured as open', () => {
  assert.equal(asks({}), 'open');
  assert.equal(asks({}, { publicUrl: 'http://localhost:9000' }), 'open');
  assert.equal(asks({ RELAY_PUBLIC_URL: 'http://[::1]:9000' }), 'open');
  assert.equal(asks({}, { host: '192.0.2.1' }), 'keys');
  assert.equal(asks({}, { publicUrl: 'https://relay.example' }), 'keys');
  assert.equal(asks({ RELAY_PUBLIC_URL: 'https://relay.example' }), 'keys');
  assert.equal(asks({}, { trustProxy: ['loopback'] }), 'keys');
  assert.equal(asks({ RELAY_TRUSTED_PROXIES: '10.0.0.0/8' }), 'keys');
  assert.equal(asks({ RELAY_AUTH: 'open', RELAY_PUBLIC_URL: 'https://relay.example' }), 'open');
});

test('deployments from the examples require keys', () => {
  const deploy = (name: string) => readFileSync(join(import.meta.dirname, '../../deploy', name), 'utf8');
  const variables = (text: string) =>
    Object.fromEntries(
      Array.from(text.matchAll(/^#?\s*(RELAY_\w+)=(\S+)$/gm), ([, name, value]) => [name!, value!]),
    );
  // In the packaged file all variables are commented out. Test each as if a user uncommented only this one.
  const packaged = variables(deploy('package/relay.env'));
  for (const name of ['RELAY_HOST', 'RELAY_PUBLIC_URL', 'RELAY_TRUSTED_PROXIES'])
    assert.equal(asks({ [name]: packaged[name] }), 'keys', name);
  assert.equal(asks(variables(deploy('nats/systemd/contextrelay.service'))), 'keys');
  const image = deploy('container/Containerfile').match(/^ENV .*$/m)![0];
  const inImage = Object.fromEntries(
    Array.from(image.matchAll(/(RELAY_\w+)=(\S+)/g), ([, n, v]) => [n!, v!]),
  );
  assert.equal(asks({ ...inImage, RELAY_HOME: place.home }), 'keys');
  const { publicUrl, trustedProxies } = parse(deploy('nats/helm/contextrelay/values.yaml'));
  assert.equal(asks({ RELAY_PUBLIC_URL: publicUrl }), 'keys');
  assert.equal(asks({ RELAY_TRUSTED_PROXIES: trustedProxies }), 'keys');
  for (const name of [
    'container/compose.yaml',
    'nats/compose.yaml',
    'nats/helm/contextrelay/templates/relay.yaml',
  ])
    assert.doesNotMatch(deploy(name), /--open|RELAY_AUTH/, name);
});
