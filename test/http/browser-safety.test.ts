import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, before, test } from 'node:test';
import { type RelayUnderTest, startRelay } from './relay-under-test.ts';

let relay: RelayUnderTest;
before(async () => {
  relay = await startRelay();
});
after(() => relay[Symbol.asyncDispose]());

function ask(headers: Record<string, string>): Promise<number> {
  const { port } = new URL(relay.url);
  return new Promise((resolve, reject) => {
    const out = request({ port, host: '127.0.0.1', path: '/health', headers }, (response) => {
      response.resume();
      resolve(response.statusCode!);
    });
    out.on('error', reject);
    out.end();
  });
}

test('a host name from DNS rebinding is refused', async () => {
  assert.equal(await ask({ Host: 'evil.example' }), 403);
  assert.equal(await ask({ Host: 'evil.example:7474' }), 403);
  assert.equal(await ask({ Host: '127.0.0.1.evil.example' }), 403);
  assert.equal(await ask({ Host: 'localhost:99' }), 200);
  assert.equal(await ask({ Host: '[::1]:99' }), 200);
});

test('a foreign page is refused, a page of the relay is not', async () => {
  assert.equal(await ask({ Origin: 'https://evil.example' }), 403);
  assert.equal(await ask({ Origin: 'null' }), 403);
  assert.equal(await ask({ Origin: 'http://localhost.evil.example' }), 403);
  assert.equal(await ask({ Origin: relay.url }), 200);
});

test('every response forbids browsers to run it, frame it or send its URL as referrer, including streams and other protocols', async () => {
  const json = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
  const list = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
  const requests: [string, RequestInit?][] = [
    ['/channels/c/events'],
    ['/mcp', { method: 'POST', headers: json, body: list }],
    ['/.well-known/agent-card.json'],
    ['/a2a', { method: 'POST', headers: json, body: '{}' }],
    ['/nowhere'],
  ];
  for (const [path, init] of requests) {
    const controller = new AbortController();
    const { headers } = await fetch(relay.url + path, { ...init, signal: controller.signal });
    controller.abort();
    assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'.*sandbox/, path);
    assert.equal(headers.get('referrer-policy'), 'no-referrer', path);
    assert.equal(headers.get('x-content-type-options'), 'nosniff', path);
  }
});
