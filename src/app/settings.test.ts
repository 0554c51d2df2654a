import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { isRelayError } from '../base/errors.ts';
import { loadConfig } from './config.ts';
import { OPTIONS } from './options.ts';
import { openSettings } from './settings.ts';
import { VARIABLES } from './variables.ts';

let home = '';
let file = '';
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'relay-settings-'));
  file = join(home, 'config.json');
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const settings = (env = {}) => openSettings(home, env);
const describe = (name: string, env = {}) =>
  settings(env)
    .show()
    .find((setting) => setting.name === name)!;

test('every option is shown with its value, its default and its source', () => {
  writeFileSync(file, '{"port": 8080, "durability": "process"}');
  assert.deepEqual(
    settings()
      .show()
      .map(({ name }) => name),
    Object.keys(OPTIONS),
  );
  const { value, default: standard, from, variable } = describe('port');
  assert.deepEqual([value, standard, from, variable], [8080, 7474, 'file', 'RELAY_PORT']);
  assert.equal(describe('host').from, 'default');
  const overridden = describe('port', { RELAY_PORT: '9090' });
  assert.deepEqual([overridden.value, overridden.from], ['9090', 'environment']);
});

test('an invalid value is shown with the reason, and other options still work', () => {
  writeFileSync(file, '{"port": "http", "host": "0.0.0.0"}');
  assert.match(describe('port').problem!, /from 0 to 65535/);
  assert.equal(describe('host').value, '0.0.0.0');
});

test('secrets stay hidden: cluster passwords, webhook paths and keys from the environment', () => {
  const engine = 'nats://relay:hunter2@a:4222,b:4222';
  writeFileSync(file, JSON.stringify({ engine, metering_webhook: 'https://hooks.example/T0/s3cret' }));
  const env = { CONTEXTRELAY_API_KEY: 'cr_live_abc', ANTHROPIC_API_KEY: 'sk-ant' };
  const seen = JSON.stringify([settings(env).show(), settings(env).variables()]);
  for (const secret of ['hunter2', 's3cret', 'cr_live_abc', 'sk-ant'])
    assert.ok(!seen.includes(secret), secret);
  assert.equal(describe('engine').value, 'nats://***@a:4222,b:4222');
  assert.equal(settings().get('engine'), engine);
});

test('every variable whose name says that it is secret stays hidden', () => {
  const names = VARIABLES.map(({ name }) => name).filter((name) => /KEY|TOKEN|SECRET|PASSWORD/.test(name));
  const env = Object.fromEntries(names.map((name) => [name, 'hunter2']));
  assert.ok(!JSON.stringify(settings(env).variables()).includes('hunter2'));
});

test('values of every type are read back as they were set', async () => {
  await settings().set('port', ['8080']);
  await settings().set('host', ['0.0.0.0']);
  await settings().set('allowed_hosts', ['relay.example']);
  await settings().set('cors_origins', ['https://a.example', 'https://b.example']);
  await settings().set('http_fetch', ['true']);
  await settings().set('models', ['{"anthropic": "NAME"}']);
  await settings().set('plans', ['{"small": {"pushes": 10}}']);
  const config = loadConfig({ RELAY_HOME: home });
  assert.equal(config.port, 8080);
  assert.deepEqual(config.allowed_hosts, ['relay.example']);
  assert.deepEqual(config.cors_origins, ['https://a.example', 'https://b.example']);
  assert.equal(config.http_fetch, true);
  assert.deepEqual(config.models, { anthropic: 'NAME' });
  assert.equal(config.plans.small?.pushes, 10);
  if (process.platform !== 'win32') assert.equal(statSync(file).mode & 0o777, 0o600);
});

test('comments, order and unknown options do not change', async () => {
  writeFileSync(file, '{\n  // behind the proxy\n  "port": 7474, // the usual\n  "later": {"a": 1}\n}\n');
  const { changed } = await settings().set('port', ['8080']);
  assert.ok(changed);
  assert.equal(
    readFileSync(file, 'utf8'),
    '{\n  // behind the proxy\n  "port": 8080, // the usual\n  "later": {"a": 1}\n}\n',
  );
  await settings().set('port', null);
  assert.match(readFileSync(file, 'utf8'), /behind the proxy[\s\S]*"later"/);
  assert.equal(describe('port').from, 'default');
});

test('a file with comments is read', () => {
  writeFileSync(file, '{ /* ours */ "port": 8080, }');
  assert.equal(loadConfig({ RELAY_HOME: home }).port, 8080);
});

test('a value that an option does not accept is rejected with what it must be, and nothing is written', async () => {
  await assert.rejects(settings().set('port', ['http']), (error: unknown) => {
    assert.ok(isRelayError(error, 'bad_usage'));
    assert.match(error.message, /port was not changed: it must be a number from 0 to 65535, not "http"/);
    return true;
  });
  assert.equal(existsSync(file), false);
  await assert.rejects(settings().set('prot', ['1']), /There is no option "prot"/);
  writeFileSync(file, '{"port": ');
  await assert.rejects(settings().set('host', ['0.0.0.0']), /not valid JSON/);
  assert.equal(readFileSync(file, 'utf8'), '{"port": ');
});

test('concurrent changes lose nothing', async () => {
  const names = ['channel_retention', 'channel_messages', 'group_lease', 'rate_limit_key', 'max_connections'];
  await Promise.all(names.map((name) => settings().set(name, ['77'])));
  assert.deepEqual(Object.keys(JSON.parse(readFileSync(file, 'utf8'))).sort(), [...names].sort());
});

test('a variable that overrides the new value is named', async () => {
  assert.equal((await settings({ RELAY_PORT: '1' }).set('port', ['2'])).overridden_by, 'RELAY_PORT');
  assert.equal((await settings().set('port', ['3'])).overridden_by, null);
});

test('a check reports every mistake at once, with its line', async () => {
  writeFileSync(file, '{\n  "prot": 1,\n  "port": 70000,\n  "durability": "disk"\n}\n');
  const found = (await settings({ RELAY_AUTH: 'maybe' }).check()).map(({ where }) => where);
  assert.deepEqual(found, [`${file}:2, prot`, `${file}:3, port`, `${file}:4, durability`, 'RELAY_AUTH']);
});

test('a check also finds mistakes that otherwise only a server would find', async () => {
  const mistakes = { tls_cert: join(home, 'none.pem'), default_plan: 'gold', capabilities: ['none.js'] };
  writeFileSync(file, JSON.stringify({ ...mistakes, projects: [join(home, 'gone')] }));
  const found = (await settings().check()).map(({ what }) => what);
  for (const reason of [
    /no plan "gold"/,
    /tls_key is missing/,
    /none\.pem cannot be read/,
    /none\.js/,
    /gone is not/,
  ])
    assert.ok(
      found.some((what) => reason.test(what)),
      `${reason} in ${found}`,
    );
  writeFileSync(file, '{"host": "0.0.0.0", "auth": "open"}');
  assert.deepEqual(
    (await settings({ RELAY_HOST: '10.0.0.1' }).check()).map(({ state }) => state),
    ['warning', 'warning'],
  );
  writeFileSync(file, '{"port": 8080}');
  assert.deepEqual(await settings().check(), []);
});
