import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { filesIn } from '../../src/app/serve/dashboard-files.ts';
import { RateLimiter } from '../../src/interfaces/http/rate-limit.ts';
import { startGuarded } from '../keys/guarded-relay.ts';
import { buildPages } from '../ui/dashboard.ts';
import { makeCertificate } from './certificate.ts';

test('with a certificate the server and its pointers use https', async (t) => {
  using certificate = makeCertificate();
  if (!certificate) return t.skip('there is no openssl to make a certificate with');
  const { cert, key } = certificate;
  await using relay = await startGuarded({ server: { tls: { cert, key } } });
  assert.match(relay.url, /^https:\/\/127\.0\.0\.1:/);
  const { key: secret } = await relay.key();
  const answer = await new Promise<{ status: number; text: string }>((resolve, reject) => {
    const out = request(
      `${relay.url}/push`,
      { method: 'POST', ca: readFileSync(cert), headers: { Authorization: `Bearer ${secret}` } },
      (response) => {
        let text = '';
        response.on('data', (chunk) => {
          text += chunk;
        });
        response.on('end', () => resolve({ status: response.statusCode!, text }));
      },
    );
    out.on('error', reject);
    out.end('x');
  });
  assert.equal(answer.status, 200);
  assert.ok(JSON.parse(answer.text).url.startsWith(`${relay.url}/pull/`));
  const { port } = new URL(relay.url);
  const old = connect({
    port: Number(port),
    host: '127.0.0.1',
    rejectUnauthorized: false,
    maxVersion: 'TLSv1.1',
  });
  await once(old, 'error');
});

test('the error for an unreadable certificate names its file', async () => {
  await assert.rejects(
    startGuarded({ server: { tls: { cert: '/nowhere/cert.pem', key: '/nowhere/key.pem' } } }),
    {
      code: 'bad_config',
      message: /\/nowhere\/cert\.pem/,
    },
  );
});

test("only a trusted proxy may set the client's address and the relay's URL", async () => {
  const pushed = async (server: object, headers: Record<string, string>) => {
    await using relay = await startGuarded({ server });
    const key = await relay.key();
    const { json } = await relay.ask('POST', '/push', { key, body: 'x', headers });
    return new URL(json.url).origin === relay.url ? 'own' : new URL(json.url).origin;
  };
  const forwarded = { 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'relay.example' };
  assert.equal(await pushed({}, forwarded), 'own');
  assert.equal(await pushed({ trustedProxies: ['10.0.0.0/8'] }, forwarded), 'own');
  assert.equal(await pushed({ trustedProxies: ['loopback'] }, forwarded), 'https://relay.example');
  assert.equal(await pushed({ trustedProxies: ['127.0.0.1'] }, {}), 'own');
  const hostile = { 'X-Forwarded-Proto': 'javascript', 'X-Forwarded-Host': 'relay.example' };
  assert.equal(await pushed({ trustedProxies: ['loopback'] }, hostile), 'own');
  const broken = { 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'a/b?c#d' };
  assert.equal(await pushed({ trustedProxies: ['loopback'] }, broken), 'own');
  const chosen = { publicUrl: 'https://chosen.example', trustedProxies: ['loopback'] };
  assert.equal(await pushed(chosen, forwarded), 'https://chosen.example');
  await assert.rejects(startGuarded({ server: { trustedProxies: ['10.0.0.0/99'] } }), { code: 'bad_config' });
});

test('behind trusted proxies the client is the last address that is not trusted', async () => {
  const addresses: string[] = [];
  await using relay = await startGuarded({
    server: { trustedProxies: ['loopback', '10.0.0.0/8'], observe: ({ address }) => addresses.push(address) },
  });
  const from = (chain: string) => relay.ask('GET', '/', { headers: { 'X-Forwarded-For': chain } });
  await from('1.2.3.4');
  await from('6.6.6.6, 1.2.3.4, 10.1.1.1');
  await from('6.6.6.6, [2001:db8::1]:99');
  await from('<script>');
  await relay.ask('GET', '/');
  assert.deepEqual(addresses, ['1.2.3.4', '1.2.3.4', '2001:db8::1', 'unknown', '127.0.0.1']);
});

test('each key and each address has its own rate limit, and a refusal says how long to wait', async () => {
  await using relay = await startGuarded({
    server: { rateLimits: { perKey: 0.001, perAddress: 0.001, burst: 10_000 } },
  });
  const [greedy, polite] = [await relay.key({ name: 'greedy' }), await relay.key({ name: 'polite' })];
  const statuses = async (key?: string) => {
    const all = await Promise.all(
      Array.from({ length: 15 }, () => relay.ask('GET', '/channels', key ? { key } : {})),
    );
    return all.map(({ status }) => status).sort();
  };
  const limited = (fine: number, of: number) => [...Array(of).fill(fine), ...Array(15 - of).fill(429)];
  assert.deepEqual(await statuses(greedy.key), limited(200, 10));
  assert.equal((await relay.ask('GET', '/channels', { key: polite })).status, 200);
  const refused = await relay.ask('GET', '/channels', { key: greedy });
  assert.deepEqual([refused.status, refused.json.code], [429, 'rate_limited']);
  assert.match(refused.headers.get('retry-after')!, /^[1-9]\d*$/);
  assert.deepEqual(await statuses(), limited(401, 10));
  assert.deepEqual(await statuses(`cr_live_${'x'.repeat(40)}`), Array(15).fill(429));
  assert.equal((await relay.ask('GET', '/health')).status, 200);
});

test('a bucket refills with time, and never beyond its size', () => {
  let now = 0;
  const limiter = new RateLimiter({ perKey: 1, perAddress: 1 }, () => now);
  const take = (rate = 10) => limiter.take('k', rate) === 0;
  for (let i = 0; i < 20; i++) assert.ok(take(), `${i}`);
  assert.ok(!take());
  now += 100;
  assert.ok(take());
  assert.ok(!take());
  now += 3_600_000;
  for (let i = 0; i < 20; i++) assert.ok(take());
  assert.ok(!take());
});

test('a server is ready until it stops, and while its store answers', async () => {
  await using relay = await startGuarded();
  assert.equal((await relay.ask('GET', '/ready')).json.status, 'ready');
  const { records } = relay.engine;
  const list = records.list.bind(records);
  records.list = async () => {
    throw new Error('the disk is gone');
  };
  assert.equal((await relay.ask('GET', '/health')).status, 200);
  assert.equal((await relay.ask('GET', '/ready')).status, 500);
  records.list = list;
  assert.equal((await relay.ask('GET', '/health')).status, 200);
});

test('metrics are for this machine and for admins of the relay, and contain no names', async () => {
  await using relay = await startGuarded({ server: { host: '127.0.0.1' } });
  const key = await relay.key();
  const operator = (await relay.core.keys.createFirst())!;
  const { json } = await relay.ask('POST', '/push', { key, body: { data: 'x', channel: 'c' } });
  await relay.ask('GET', `/pull/${json.id}`, { key });
  const local = await relay.ask('GET', '/metrics');
  assert.equal(local.status, 200);
  assert.match(local.text, /relay_http_requests_total\{operation="pointers\.push",status="200"\} 1\n/);
  assert.match(local.text, /relay_http_request_duration_seconds_count\{operation="pointers\.pull"\} 1\n/);
  assert.match(local.text, /process_resident_memory_bytes \d+\n/);
  for (const secret of [json.id, key.key, key.id, 'acme']) assert.ok(!local.text.includes(secret));
  const proxied = { 'X-Forwarded-For': '1.2.3.4' };
  assert.equal((await relay.ask('GET', '/metrics', { headers: proxied })).status, 401);
  assert.equal((await relay.ask('GET', '/metrics', { headers: proxied, key })).status, 403);
  assert.equal((await relay.ask('GET', '/metrics', { headers: proxied, key: operator })).status, 200);
});

test('every answer has a type that no browser runs, and may not be framed', async (t) => {
  const pages = await buildPages();
  t.after(pages.remove);
  await using relay = await startGuarded({ server: { dashboard: filesIn(pages.folder) } });
  const key = await relay.key();
  const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';
  const push = async (body: string | Uint8Array, type: string) =>
    (await relay.ask('POST', '/push?visibility=link', { key, body, headers: { 'Content-Type': type } })).json
      .id;
  const [text, bytes] = [
    await push(svg, 'image/svg+xml'),
    await push(new Uint8Array([255, 216]), 'text/html'),
  ];
  for (const path of [
    `/pull/${text}`,
    `/pull/${text}?raw=1`,
    `/peek/${text}`,
    `/pull/${bytes}?raw=1`,
    '/',
    '/nowhere',
  ]) {
    const { headers } = await relay.ask('GET', path);
    assert.equal(headers.get('x-content-type-options'), 'nosniff', path);
    assert.match(headers.get('content-type')!, /^(text\/plain|application\/(json|octet-stream))/, path);
    assert.match(headers.get('content-security-policy')!, /default-src 'none'.*frame-ancestors 'none'/, path);
    assert.equal(headers.get('referrer-policy'), 'no-referrer', path);
  }
  assert.equal(
    (await relay.ask('GET', `/pull/${bytes}?raw=1`)).headers.get('content-disposition'),
    'attachment',
  );
  const page = await relay.ask('GET', `/pull/${text}`, { headers: { Accept: 'text/html' } });
  assert.match(page.headers.get('content-security-policy')!, /default-src 'none'; script-src 'self';/);
  assert.ok(!page.text.includes('alert(1)'));
});
