import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { CreatedKey } from '../../src/contract/keys.ts';
import { routeOf } from '../../src/contract/verb.ts';
import { openSqlite } from '../../src/engines/sqlite/engine.ts';
import { OPERATIONS } from '../../src/interfaces/http/operations.ts';
import { type GuardedRelay, startGuarded } from '../keys/guarded-relay.ts';

let folder: string;
let relay: GuardedRelay;
let key: CreatedKey;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'relay-input-'));
  const home = join(folder, 'a', 'home');
  relay = await startGuarded({
    open: (env) => openSqlite({ home, env, durability: 'process', role: 'server' }),
  });
  key = (await relay.core.keys.createFirst())!;
});
after(async () => {
  await relay[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const TRAVERSALS = [
  '..',
  '../../../../etc/passwd',
  '..%2f..%2f..%2fetc%2fpasswd',
  '..\\..\\windows',
  '/etc/passwd',
  '....//....//etc',
  'a\u0000b',
  'C:\\x',
  '~',
  'file:///etc/passwd',
  '.'.repeat(500),
  'ptr.x/../../y',
];

test('a path in an id or a name has no effect, in any parameter of any operation', async () => {
  for (const { verb } of OPERATIONS) {
    const { name } = verb;
    const http = routeOf(verb);
    // Skip streams, because they never end.
    if (/\.(events|watch)$/.test(name) || name === 'channels.socket') continue;
    for (const bad of TRAVERSALS) {
      const path = http.path.replace(/:\w+(\{[^}]*\})?/g, encodeURIComponent(bad));
      const query =
        http.method === 'GET' ? `?tenant=${encodeURIComponent(bad)}&channel=${encodeURIComponent(bad)}` : '';
      const body =
        http.method === 'POST' ? { name: bad, tenant: bad, channel: bad, data: 'x', msg: 1 } : undefined;
      const { status, text } = await relay.ask(http.method, path + query, { key, body });
      assert.ok(status < 500, `${http.method} ${path}: ${status} ${text}`);
      assert.ok(!text.includes('root:'), path);
    }
  }
  assert.deepEqual(readdirSync(folder), ['a']);
  assert.deepEqual(readdirSync(join(folder, 'a')), ['home']);
  assert.ok(!existsSync(join(folder, 'etc')));
});

test("a client's name cannot address another key of the store", async () => {
  const names = ['../ten.acme', 'x/../../sys/secret', 'c/grp/x', '%2e%2e', 'a.b', 'chn.acme.x'];
  for (const channel of names) {
    const encoded = encodeURIComponent(channel);
    const { status } = await relay.ask('POST', `/channels/${encoded}`, { key, body: { msg: channel } });
    assert.equal(status, 200, channel);
    const { json } = await relay.ask('GET', `/channels/${encoded}`, { key });
    assert.deepEqual([json.name, json.messages], [channel, 1]);
  }
  const { json } = await relay.ask('GET', '/channels', { key });
  for (const channel of names) {
    assert.equal(json.channels.filter((each: { name: string }) => each.name === channel).length, 1, channel);
  }
});

test('a zip bomb is stored as bytes and never unpacked', async () => {
  const bomb = gzipSync(Buffer.alloc(200 * 1024 * 1024));
  const headers = { 'Content-Encoding': 'gzip' };
  const { status, json } = await relay.ask('POST', '/push', { key, body: new Uint8Array(bomb), headers });
  assert.equal(status, 200);
  assert.equal(json.size, bomb.byteLength);
  const pulled = await fetch(`${relay.url}/pull/${json.id}?raw=1`, {
    headers: { Authorization: `Bearer ${key.key}` },
  });
  assert.equal(pulled.headers.get('content-encoding'), null);
  assert.equal((await pulled.arrayBuffer()).byteLength, bomb.byteLength);
  const compressed = new Uint8Array(gzipSync('{"name":"x"}'));
  const json2 = { ...headers, 'Content-Type': 'application/json' };
  assert.equal((await relay.ask('POST', '/keys', { key, body: compressed, headers: json2 })).status, 400);
});

test('no pattern makes a search hang', async () => {
  const { json } = await relay.ask('POST', '/push', { key, body: `${'a'.repeat(200_000)}!` });
  for (const pattern of [
    '(a+)+$',
    '(a|aa)+$',
    '(.*a){20}$',
    '^(([a-z])+.)+[A-Z]([a-z])+$',
    '(?:a?){100}a{100}',
  ]) {
    const query = `grep=${encodeURIComponent(pattern)}`;
    const { status } = await relay.ask('GET', `/pull/${json.id}?${query}`, { key });
    assert.ok([200, 400, 408].includes(status), `${pattern}: ${status}`);
  }
});

test('text that is slow to tokenize does not block others', async () => {
  const bomb = 'a'.repeat(2 * 1024 * 1024);
  let wasCounted = false;
  const counting = relay.ask('POST', '/push?count=1', { key, body: bomb }).then((answer) => {
    wasCounted = true;
    return answer;
  });
  assert.equal((await relay.ask('GET', '/health')).status, 200);
  const { status, json } = await counting;
  assert.ok(wasCounted);
  assert.equal(status, 200);
  assert.ok(json.tokens.tokens > 0);
});

test('a prototype cannot be reached through JSON', async () => {
  const hostile =
    '{"data":"x","metadata":{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}},"__proto__":{"max_pulls":1}}';
  const headers = { 'Content-Type': 'application/json' };
  const { status, json } = await relay.ask('POST', '/push', { key, body: hostile, headers });
  assert.equal(status, 200);
  assert.equal(({} as Record<string, unknown>).polluted, undefined);
  const peeked = await relay.ask('GET', `/peek/${json.id}`, { key });
  assert.equal(peeked.text, '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}');
  assert.equal(peeked.headers.get('relay-max-pulls'), null);
  for (const name of ['__proto__', 'constructor', 'toString']) {
    assert.equal((await relay.ask('POST', `/channels/${name}`, { key, body: { msg: 1 } })).status, 200);
    await relay.ask('POST', `/inbox/${name}/channels`, { key, body: { channel: name, since: 'all' } });
    const inbox = await relay.ask('GET', `/inbox/${name}`, { key });
    assert.equal(inbox.status, 200);
    assert.equal(inbox.json.messages.length, 1, name);
  }
  assert.equal(({} as Record<string, unknown>).polluted, undefined);
});

test('JSON that is nested too deeply is refused, wherever it comes', async () => {
  const deep = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
  const headers = { 'Content-Type': 'application/json' };
  for (const [path, body] of [
    ['/push', `{"data":"x","metadata":{"a":${deep(100_000)}}}`],
    ['/push', `{"metadata":{"a":${deep(100_000)}},"data":"${'x'.repeat(2_000_000)}"}`],
    ['/channels/c', `{"msg":${deep(100_000)}}`],
    ['/keys', deep(500_000)],
    ['/keys', `{"name":${deep(100)}}`],
  ] as const) {
    const { status } = await relay.ask('POST', path, { key, body, headers });
    assert.ok(status === 400 || status === 413, `${path}: ${status}`);
  }
  assert.equal((await relay.ask('GET', '/health')).status, 200);
});

test('no client value can inject a header or an event', async () => {
  const injected = 'x\r\nSet-Cookie: owned=1\r\n\r\n<script>';
  const push = (body: unknown, headers = {}) => relay.ask('POST', '/push', { key, body, headers });
  assert.equal((await push({ data: 'x', content_type: injected })).status, 400);
  const { json } = await push({ data: 'x', channel: `c${injected}`, metadata: { [injected]: injected } });
  for (const path of [
    `/pull/${json.id}`,
    `/peek/${json.id}`,
    `/pull/${json.id}?raw=1`,
    `/pull/${json.id}?json=/${injected}`,
  ]) {
    const { headers } = await relay.ask('GET', path, { key });
    assert.equal(headers.get('set-cookie'), null, path);
  }
  const { headers } = await relay.ask('GET', `/${encodeURIComponent(injected)}`, { key });
  assert.equal(headers.get('set-cookie'), null);
  const events = await fetch(`${relay.url}/channels/${encodeURIComponent(`c${injected}`)}/events?since=all`, {
    headers: { Authorization: `Bearer ${key.key}` },
  });
  const reader = events.body!.getReader();
  let text = '';
  while (!text.includes('data:')) text += new TextDecoder().decode((await reader.read()).value);
  await reader.cancel();
  for (const line of text.split('\n')) assert.match(line, /^(retry: |id: |data: \{|$)/);
});
