import assert from 'node:assert/strict';
import { request } from 'node:http';
import { test } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { WebSocket } from 'ws';
import { filesIn } from '../../src/app/serve/dashboard-files.ts';
import { startRelay } from '../http/relay-under-test.ts';
import { startGuarded } from '../keys/guarded-relay.ts';
import { buildPages } from '../ui/dashboard.ts';

/** Sends a request with headers that `fetch` does not allow setting. */
function send(
  url: string,
  method: string,
  path: string,
  headers: Record<string, string>,
): Promise<{ status: number; headers: NodeJS.Dict<string | string[]> }> {
  return new Promise((resolve, reject) => {
    const { port } = new URL(url);
    const out = request({ port, host: '127.0.0.1', path, method, headers }, (response) => {
      response.resume();
      resolve({ status: response.statusCode!, headers: response.headers });
    });
    out.on('error', reject);
    out.end(method === 'POST' ? 'x' : undefined);
  });
}

function socket(url: string, headers: Record<string, string> = {}): Promise<number> {
  return new Promise((resolve) => {
    const ws = new WebSocket(url.replace('http', 'ws'), { headers });
    ws.on('open', () => {
      ws.close();
      resolve(101);
    });
    ws.on('unexpected-response', (_, response) => resolve(response.statusCode!));
    ws.on('error', () => {});
  });
}

test('in open mode a request or socket of a foreign page is refused', async (t) => {
  const pages = await buildPages();
  t.after(pages.remove);
  await using relay = await startRelay({ server: { dashboard: filesIn(pages.folder) } });
  const ownHost = new URL(relay.url).host;
  for (const [headers, status] of [
    [{ Host: ownHost, Origin: 'https://evil.example' }, 403],
    [{ Host: ownHost, Origin: 'null' }, 403],
    [{ Host: ownHost, Origin: 'http://localhost:3000' }, 403],
    [{ Host: ownHost, Origin: `http://${ownHost}.evil.example` }, 403],
    [{ Host: ownHost, Origin: `http://${ownHost}` }, 200],
    [{ Host: ownHost, 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'no-cors' }, 403],
    [{ Host: ownHost, 'Sec-Fetch-Site': 'same-site', 'Sec-Fetch-Mode': 'no-cors' }, 403],
    [{ Host: ownHost, 'Sec-Fetch-Site': 'same-origin', 'Sec-Fetch-Mode': 'cors' }, 200],
    [{ Host: ownHost, 'Sec-Fetch-Site': 'none', 'Sec-Fetch-Mode': 'navigate' }, 200],
  ] as const) {
    const note = JSON.stringify(headers);
    assert.equal((await send(relay.url, 'POST', '/push', headers)).status, status, note);
    assert.equal((await send(relay.url, 'GET', '/channels', headers)).status, status, note);
    const upgraded = await socket(`${relay.url}/ws/c`, headers);
    assert.equal(upgraded, status === 200 ? 101 : 403, note);
  }
  const link = {
    Host: ownHost,
    'Sec-Fetch-Site': 'cross-site',
    'Sec-Fetch-Mode': 'navigate',
    'Sec-Fetch-Dest': 'document',
    Accept: 'text/html',
  };
  const status = async (path: string, more = {}) =>
    (await send(relay.url, path === '/push' ? 'POST' : 'GET', path, { ...link, ...more })).status;
  const page = '/pull/00000000-0000-4000-8000-000000000000';
  for (const path of ['/', page, `/v1${page}`]) {
    assert.equal(await status(path), 200, path);
    for (const dest of ['iframe', 'frame', 'object', 'embed', 'empty', '']) {
      assert.equal(await status(path, { 'Sec-Fetch-Dest': dest }), 403, `${path} as ${dest}`);
    }
    assert.equal(await status(path, { 'Sec-Purpose': 'prefetch' }), 403, path);
    assert.equal(await status(path, { 'Sec-Purpose': 'prefetch;prerender' }), 403, path);
  }
  const others = ['/push', '/channels', `${page}?raw=1`, `${page}/receipts`, '/peek/x', '/channels/c/events'];
  for (const path of others) assert.equal(await status(path), 403, path);
});

test('with keys any host name is accepted, but a foreign page must still be allowed', async () => {
  await using relay = await startGuarded();
  const { key } = await relay.key();
  const Authorization = `Bearer ${key}`;
  const push = (headers: Record<string, string>) => send(relay.url, 'POST', '/push', headers);
  assert.equal((await push({ Host: 'relay.example', Authorization })).status, 200);
  assert.equal(
    (await push({ Host: 'relay.example', Origin: 'http://relay.example', Authorization })).status,
    200,
  );
  assert.equal(
    (await push({ Host: 'relay.example', Origin: 'https://evil.example', Authorization })).status,
    403,
  );
});

test('allowed pages can read answers, others can read only the refusal', async () => {
  const corsOrigins = ['https://app.example'];
  await using relay = await startGuarded({ server: { corsOrigins } });
  const { key } = await relay.key();
  const Authorization = `Bearer ${key}`;
  const allowed = await send(relay.url, 'POST', '/push', { Origin: 'https://app.example', Authorization });
  assert.equal(allowed.status, 200);
  assert.equal(allowed.headers['access-control-allow-origin'], 'https://app.example');
  assert.equal(allowed.headers['access-control-allow-credentials'], undefined);
  const preflight = await send(relay.url, 'OPTIONS', '/push', {
    Origin: 'https://app.example',
    'Access-Control-Request-Method': 'POST',
    'Access-Control-Request-Headers': 'authorization,content-type',
  });
  assert.equal(preflight.status, 204);
  assert.equal(preflight.headers['access-control-allow-headers'], 'authorization,content-type');
  assert.match(String(preflight.headers['access-control-allow-methods']), /DELETE/);
  for (const Origin of ['https://evil.example', 'https://app.example.evil.example', 'http://app.example']) {
    const before = (await relay.engine.usage()).blobs.count;
    const preflight = await send(relay.url, 'OPTIONS', '/push', { Origin });
    assert.equal(preflight.headers['access-control-allow-origin'], Origin);
    assert.equal(preflight.headers['access-control-max-age'], '0');
    for (const [method, path] of [
      ['POST', '/push'],
      ['GET', '/channels'],
      ['GET', '/health'],
      ['GET', '/'],
    ] as const) {
      const headers = { Origin, Authorization };
      const response = await fetch(relay.url + path, {
        method,
        headers,
        body: method === 'POST' ? 'x' : null,
      });
      assert.equal(response.status, 403, path);
      assert.equal(response.headers.get('access-control-allow-origin'), Origin);
      assert.equal(response.headers.get('access-control-expose-headers'), null);
      const { code, hint } = (await response.json()) as { code: string; hint: string };
      assert.equal(code, 'foreign_origin');
      assert.ok(hint.includes(`"cors_origins": ["${Origin}"]`), hint);
    }
    assert.equal((await relay.engine.usage()).blobs.count, before);
  }
});

test('in open mode a foreign page cannot read the refusal, but its body says which option to set', async () => {
  for (const server of [{}, { allowedHosts: ['*'] }]) {
    await using relay = await startRelay({ server });
    const Origin = 'https://app.example';
    const preflight = await send(relay.url, 'OPTIONS', '/push', { Origin });
    assert.deepEqual([preflight.status, preflight.headers['access-control-allow-origin']], [403, undefined]);
    const response = await fetch(`${relay.url}/channels`, { headers: { Origin } });
    assert.deepEqual([response.status, response.headers.get('access-control-allow-origin')], [403, null]);
    assert.match(((await response.json()) as { hint: string }).hint, /cors_origins/);
  }
});

test('in open mode a request or socket with a foreign host name is refused', async () => {
  await using relay = await startRelay();
  const { port } = new URL(relay.url);
  for (const Host of [
    'rebound.example',
    `rebound.example:${port}`,
    'localhost.rebound.example',
    '10.0.0.1',
  ]) {
    assert.equal((await send(relay.url, 'POST', '/push', { Host })).status, 403, Host);
    assert.equal((await send(relay.url, 'GET', '/channels', { Host })).status, 403, Host);
    assert.equal((await send(relay.url, 'GET', '/', { Host })).status, 403, Host);
    assert.equal(await socket(`${relay.url}/ws/c`, { Host }), 403, Host);
  }
});

test('CORS headers do not leak into other responses, also not into cached ones', async () => {
  const corsOrigins = ['https://a.example', 'https://b.example'];
  await using relay = await startGuarded({ server: { corsOrigins } });
  const Authorization = `Bearer ${(await relay.key()).key}`;
  const pushed = await fetch(`${relay.url}/push`, { method: 'POST', body: 'x', headers: { Authorization } });
  const { id } = (await pushed.json()) as { id: string };
  for (const path of [`/peek/${id}`, `/pull/${id}?raw=1`]) {
    const ask = (more: Record<string, string>) =>
      send(relay.url, 'GET', path, { Authorization, ...more }).then(({ headers }) => headers);
    const plain = await ask({});
    for (const Origin of corsOrigins) {
      const headers = await ask({ Origin });
      assert.equal(headers['access-control-allow-origin'], Origin);
      assert.equal(headers.vary, [plain.vary, 'Origin'].filter(Boolean).join(', '), path);
    }
    const after = await ask({});
    assert.equal(after['access-control-allow-origin'], undefined);
    assert.equal(after.vary, plain.vary);
  }
});

test('a browser socket needs a ticket that works once, for a short time, and only while its key is valid', async () => {
  await using relay = await startGuarded({ core: { defaultPlan: 'team' } });
  const key = await relay.key();
  const ticket = async (): Promise<string> =>
    (await relay.ask('POST', '/ws-ticket', { key, body: {} })).json.ticket;
  const origin = { Origin: relay.url };
  assert.equal(await socket(`${relay.url}/ws/c`, origin), 401);
  assert.equal(await socket(`${relay.url}/ws/c?ticket=made-up`, origin), 401);
  const one = await ticket();
  assert.equal(await socket(`${relay.url}/ws/c?ticket=${one}`, { Origin: 'https://evil.example' }), 403);
  assert.equal(await socket(`${relay.url}/ws/c?ticket=${one}`, origin), 101);
  assert.equal(await socket(`${relay.url}/ws/c?ticket=${one}`, origin), 401);
  const late = await ticket();
  relay.advance(31_000);
  assert.equal(await socket(`${relay.url}/ws/c?ticket=${late}`, origin), 401);
  const limited = await relay.key({ channel_prefix: 'a.' });
  const narrow = (await relay.ask('POST', '/ws-ticket', { key: limited, body: {} })).json.ticket;
  assert.equal(await socket(`${relay.url}/ws/b?ticket=${narrow}`, origin), 403);
  const revoked = await ticket();
  await relay.core.keys.revoke({ ...ADMIN }, key.id);
  assert.equal(await socket(`${relay.url}/ws/c?ticket=${revoked}`, origin), 401);
  const unable = await relay.key({ scopes: ['push'] });
  assert.equal(await socket(`${relay.url}/ws/c`, { Authorization: `Bearer ${unable.key}` }), 403);
});

const ADMIN = { tenant: 'acme', keyId: 'local', name: 'admin', scopes: ['admin'] } as const;

// Timeout: if a hibernating socket were not closed, the test would wait forever.
test('sockets end when their key is revoked, here or in another process', { timeout: 60_000 }, async () => {
  await using relay = await startGuarded({ core: { defaultPlan: 'team' } });
  await using other = await startGuarded({ open: () => relay.engine });
  for (const revoking of [relay, other]) {
    const { id, key } = await relay.key();
    const headers = { Authorization: `Bearer ${key}` };
    const ws = new WebSocket(`${relay.url.replace('http', 'ws')}/ws/c`, { headers });
    await new Promise((resolve) => ws.once('open', resolve));
    const closed = new Promise<number>((resolve) => ws.once('close', resolve));
    await revoking.core.keys.revoke(ADMIN, id);
    assert.equal(await closed, 1008);
  }
});

test('streams end when their key is revoked, here or in another process', async () => {
  await using relay = await startGuarded({ core: { defaultPlan: 'team' } });
  await using other = await startGuarded({ open: () => relay.engine });
  for (const revoking of [relay, other]) {
    const { id, key } = await relay.key();
    const headers = { Authorization: `Bearer ${key}` };
    const stream = await fetch(`${relay.url}/channels/c/events`, { headers });
    const reader = stream.body!.getReader();
    await reader.read();
    const thread = (await relay.ask('POST', '/threads', { key, body: { name: 'x' } })).json.thread_id;
    const watched = await fetch(`${relay.url}/threads/${thread}/events?stream=1`, { headers });
    const events = watched.body!.getReader();
    await events.read();
    await revoking.core.keys.revoke(ADMIN, id);
    while (!(await reader.read()).done);
    while (!(await events.read()).done);
  }
});

test('streams of MCP and A2A end when their key is revoked, here or in another process', async () => {
  await using relay = await startGuarded({ core: { defaultPlan: 'team' } });
  await using other = await startGuarded({ open: () => relay.engine });
  for (const revoking of [relay, other]) {
    const { id, key } = await relay.key();
    const headers = { Authorization: `Bearer ${key}` };
    const client = new Client(
      { name: 'test', version: '1' },
      { versionNegotiation: { mode: { pin: '2026-07-28' } } },
    );
    const requestInit = { headers };
    await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', relay.url), { requestInit }));
    const listening = await client.listen({ resourceSubscriptions: ['relay://channel/c'] });
    const task = await fetch(`${relay.url}/a2a/relay/message:stream`, {
      method: 'POST',
      headers: { ...headers, 'A2A-Version': '1.0', 'Content-Type': 'application/json' },
      body: JSON.stringify({
        message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'nobody does it' }] },
      }),
    });
    const changes = task.body!.getReader();
    assert.match(new TextDecoder().decode((await changes.read()).value), /TASK_STATE_SUBMITTED/);
    await revoking.core.keys.revoke(ADMIN, id);
    await listening.closed;
    while (!(await changes.read()).done);
    await client.close();
  }
});
