import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { isRelayError, type RelayError } from '../base/errors.ts';
import { type Config, loadConfig } from './config.ts';
import { withKnownLogin } from './store/remote-engines.ts';

let home = '';
before(() => {
  home = mkdtempSync(join(tmpdir(), 'relay-config-'));
});
after(() => rmSync(home, { recursive: true, force: true }));

const write = (text: string) => writeFileSync(join(home, 'config.json'), text);
const load = (env = {}, flags = {}): Config => loadConfig({ RELAY_HOME: home, ...env }, flags);

function refusal(load: () => Config): RelayError {
  try {
    load();
  } catch (error) {
    assert.ok(isRelayError(error, 'bad_config'), String(error));
    return error;
  }
  return assert.fail('it was taken');
}

test('without a file every option has its default', () => {
  assert.deepEqual(load(), {
    home,
    host: '127.0.0.1',
    port: 7474,
    projects: [],
    prices: { models: {} },
    sessions: 'on',
    public_url: null,
    publicUrl: 'http://127.0.0.1:7474',
    engine: null,
    engine_file: null,
    blobs: null,
    durability: 'power',
    allowed_hosts: [],
    channel_retention: 86_400,
    channel_messages: 10_000,
    group_lease: 30,
    channels: { retentionMs: 86_400_000, messages: 10_000, leaseMs: 30_000 },
    output_storage: 1024 ** 3,
    http_fetch: false,
    capabilities: [],
    model_provider: null,
    models: {},
    model_timeout: 300,
    prompts: { provider: null, models: {}, timeoutMs: 300_000 },
    auth: null,
    plans: {},
    default_plan: 'free',
    tls_cert: null,
    tls_key: null,
    trusted_proxies: [],
    loopback_webhooks: false,
    cors_origins: [],
    rate_limit_key: 100,
    rate_limit_address: 50,
    rate_limit_tenant: 500,
    max_connections: 20_000,
    log_requests: null,
    otlp_endpoint: null,
    metering_file: null,
    metering_webhook: null,
    remote: null,
    apiKey: null,
    agent: null,
    logFile: null,
  });
});

test('the home is set by the flag, else by the variable', () => {
  assert.equal(load().home, home);
  assert.equal(load({}, { home: join(home, 'x') }).home, join(home, 'x'));
});

test('the file sets an option, and a variable overrides it', () => {
  write('{"port": 8080, "public_url": "https://relay.example/base/", "durability": "process"}');
  assert.equal(load().port, 8080);
  assert.equal(load().publicUrl, 'https://relay.example/base');
  assert.equal(load().durability, 'process');
  assert.equal(load({ RELAY_PORT: '9090' }).port, 9090);
});

test('pointer URLs use the configured port unless a public URL is set', () => {
  write('{"port": 8080}');
  assert.equal(load().publicUrl, 'http://127.0.0.1:8080');
  write('{"port": 0}');
  assert.equal(load().publicUrl, 'http://127.0.0.1:7474');
});

test('an unknown option is rejected with file and key, and a similar option or all options are named', () => {
  write('{"prot": 1}');
  const error = refusal(load);
  assert.match(error.message, /config\.json, "prot": there is no such option/);
  assert.equal(error.hint, 'Did you mean: port?');
  write('{"colour": 1}');
  assert.match(refusal(load).hint, /The options are: .*public_url/);
});

test('the configuration of the earlier Go relay is recognized, with the command that imports its threads', () => {
  write('{"provider": "anthropic"}');
  assert.match(refusal(load).hint, /The options are/);
  const db = join(home, 'relay.db');
  writeFileSync(db, 'the database of another program'.repeat(4));
  const { message, hint } = refusal(load);
  assert.match(message, /config\.json: it was written by the earlier relay in Go/);
  assert.match(
    hint,
    new RegExp(`relay import --legacy ${home} --home \\S*/\\.contextrelay\\. Then set RELAY_HOME=`),
  );
  const ours = Buffer.alloc(100);
  ours.writeUInt32BE(0x52454c59, 68);
  writeFileSync(db, ours);
  assert.match(refusal(load).hint, /The options are/);
  rmSync(db);
});

test('a wrong value is rejected with its place and what it must be', () => {
  for (const [text, expected] of [
    ['{"port": "http"}', /"port": it must be a number from 0 to 65535, not "http"/],
    ['{"port": 70000}', /"port"/],
    ['{"host": 1}', /"host": it must be a string/],
    ['{"public_url": "relay.example"}', /"public_url": it must be an http:/],
    ['{"public_url": "ftp://relay.example"}', /"public_url"/],
    ['{"public_url": "http://relay.example/?a"}', /"public_url"/],
    ['{"durability": "none"}', /"durability": it must be "power" or "process"/],
    ['{"allowed_hosts": "a"}', /"allowed_hosts": it must be a list/],
    ['{"model_provider": "nobody"}', /"model_provider": it must be "anthropic" or/],
    [
      '{"models": {"nobody": "m"}}',
      /"models": it must be an object with string values; its keys can be anthropic,/,
    ],
    ['{"models": {"openai": 5}}', /"models": it must be/],
    ['{"models": "m"}', /"models": it must be/],
    ['{"port": 1', /config\.json: it is not valid JSON/],
    ['[]', /config\.json: it must contain a JSON object/],
  ] as const) {
    write(text);
    assert.match(refusal(load).message, expected, text);
  }
  write('{}');
  assert.match(refusal(() => load({ RELAY_PORT: 'x' })).message, /^RELAY_PORT: /);
});

test('the server URL is set by the flag, else by the variable, and an invalid URL is rejected', () => {
  assert.equal(load({ CONTEXTRELAY_URL: 'https://a.example/' }).remote, 'https://a.example');
  assert.equal(
    load({ CONTEXTRELAY_URL: 'https://a.example' }, { url: 'http://b.example' }).remote,
    'http://b.example',
  );
  assert.equal(load({ CONTEXTRELAY_URL: '' }).remote, null);
  assert.match(refusal(() => load({}, { url: 'b.example' })).message, /^--url: /);
  assert.match(refusal(() => load({ CONTEXTRELAY_URL: 'nope' })).message, /^CONTEXTRELAY_URL: /);
});

test('the cluster address can be in a file, and a variable overrides the configuration', () => {
  const [address, other] = ['nats://relay:secret@a:4222/team', 'nats://b:4222'];
  writeFileSync(join(home, 'cluster'), `${address}\n`);
  const engine = (written: object, env = {}) => {
    write(JSON.stringify(written));
    return load(env).engine;
  };
  assert.equal(engine({ engine_file: 'cluster' }), address);
  assert.equal(engine({ engine_file: 'cluster' }, { RELAY_ENGINE: other }), other);
  assert.equal(engine({ engine: other }, { RELAY_ENGINE_FILE: 'cluster' }), address);
  assert.throws(() => engine({ engine: other, engine_file: 'cluster' }), /both set/);
  assert.throws(() => engine({ engine_file: 'missing' }), /missing: it cannot be read/);
  writeFileSync(join(home, 'cluster'), 'relay:secret@a');
  assert.throws(
    () => engine({ engine_file: 'cluster' }),
    ({ message }: Error) => /NATS cluster/.test(message) && !message.includes('secret'),
  );
});

test('an address without a login gets the login of the configured cluster only if it names the same servers', () => {
  const configured = 'tls://relay:secret@a:4222,b:4222/team';
  assert.equal(
    withKnownLogin('tls://b:4222,a:4222/restored', configured),
    'tls://relay:secret@b:4222,a:4222/restored',
  );
  for (const other of ['tls://c:4222/x', 'tls://a:4222/x', 'tls://me:own@a:4222,b:4222', '/var/relay'])
    assert.equal(withKnownLogin(other, configured), other);
  assert.equal(withKnownLogin('tls://a:4222', null), 'tls://a:4222');
});
