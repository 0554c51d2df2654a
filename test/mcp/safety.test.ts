import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { ContextRelay } from '../../src/sdk/context-relay.ts';
import { temporaryHome } from '../cli/program.ts';
import { type RelayUnderTest, startRelay } from '../http/relay-under-test.ts';
import { overHttp, overStdio, type TestClient } from './clients.ts';

const home = temporaryHome();
after(() => home[Symbol.dispose]());
let relay: RelayUnderTest;
let http: TestClient;
let stdio: TestClient;
before(async () => {
  relay = await startRelay();
  [http, stdio] = await Promise.all([
    overHttp(relay.url, '2026-07-28'),
    overStdio(home.home, '2025-11-25', { env: { CONTEXTRELAY_URL: relay.url } }),
  ]);
});
after(async () => {
  await http[Symbol.asyncDispose]();
  await stdio[Symbol.asyncDispose]();
  await relay[Symbol.asyncDispose]();
});

describe('over a pipe', () => {
  test('an encrypted push comes back with its key, and the relay never sees the text', async () => {
    const url = await stdio.call('push_context', { data: 'the secret', encrypted: true, channel: 'safe' });
    assert.match(url, /#key=/);
    assert.equal(await stdio.call('pull_context', { url }), 'the secret');
    const stored = await (await fetch(`${url.split('#')[0]}?raw=1`)).text();
    assert.match(stored, /^gAAAA/);
  });

  test('the summary of an encrypted push stays readable, with a warning in the log', async () => {
    const warned: string[] = [];
    stdio.client.setNotificationHandler('notifications/message', ({ params }) => {
      assert.equal(params.level, 'warning');
      warned.push(String(params.data));
    });
    const quiet = await stdio.client.callTool({
      name: 'push_context',
      arguments: { data: 'the secret', encrypted: true },
    });
    assert.deepEqual(warned, []);
    assert.equal((quiet.content as unknown[]).length, 1);
    const url = await stdio.call('push_context', {
      data: 'the secret',
      encrypted: true,
      summary: 'about it',
      channel: 'open',
    });
    assert.match(url, /^http:\S+#key=[\w-]{43}=$/);
    const peeked = JSON.parse(await stdio.call('peek_context', { url }));
    assert.deepEqual([peeked.metadata, peeked.encrypted], [{ summary: 'about it' }, true]);
    assert.equal(warned.length, 2);
    assert.match(warned[0]!, /summary is not encrypted/);
    assert.match(warned[1]!, /channel open has no key/);
  });

  test('a pull that cannot succeed uses up no pull', async () => {
    const client = new ContextRelay({ baseUrl: relay.url });
    const url = await client.push('for one reader', { encrypted: true, maxPulls: 1 });
    const [bare] = url.split('#') as [string];
    for (const part of [undefined, 'all', 'outline', 'lines=1']) {
      for (const wrong of [bare, url.slice(0, -4), `${bare}#key=${'Q'.repeat(43)}=`]) {
        const output = await stdio.call('pull_context', { url: wrong, part });
        assert.match(output, /^Error pulling context: Failed to decrypt/, `${wrong} ${part}`);
      }
      assert.match(await http.call('pull_context', { url: bare, part }), /^Error pulling context: Failed to/);
    }
    assert.equal(await stdio.call('pull_context', { url }), 'for one reader');
  });

  test('a pointer of another relay is pulled from that relay', async () => {
    await using other = await startRelay();
    const pushed = await fetch(`${other.url}/push`, { method: 'POST', body: 'elsewhere' });
    const { url } = (await pushed.json()) as { url: string };
    assert.equal(await stdio.call('pull_context', { url }), 'elsewhere');
  });
});

describe('over HTTP', () => {
  test('encrypted is refused, with a hint to use stdio', async () => {
    const answer = await http.call('push_context', { data: 'x', encrypted: true });
    assert.match(answer, /^Error pushing context: encrypted is not allowed over HTTP.*stdio/);
  });

  test('a key is refused, with a hint to use stdio', async () => {
    const url = await stdio.call('push_context', { data: 'x', encrypted: true });
    for (const tool of ['pull_context', 'peek_context']) {
      assert.match(
        await http.call(tool, { url }),
        /^Error \w+ context: #key= is not allowed over HTTP.*stdio/,
      );
    }
  });

  test('a foreign URL is never fetched', async () => {
    let requestCount = 0;
    const foreign = createServer((_request, response) => {
      requestCount++;
      response.end('{"data":"taken","metadata":{}}');
    });
    await new Promise<void>((ready) => foreign.listen(0, '127.0.0.1', ready));
    const { port } = foreign.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/pull/0b54a5c3-6a8f-4a63-9d5f-0e6a1c9f8a11`;
    for (const tool of ['pull_context', 'peek_context']) {
      assert.match(await http.call(tool, { url }), /^Error \w+ context: .*not on this relay/);
    }
    assert.equal(requestCount, 0);
    foreign.close();
  });

  test('a pointer of this relay is found under any host name', async () => {
    const url = await http.call('push_context', { data: 'own' });
    assert.equal(await http.call('pull_context', { url: url.replace('127.0.0.1', 'localhost') }), 'own');
  });

  test('foreign pages are refused', async () => {
    const response = await fetch(`${relay.url}/mcp`, {
      method: 'POST',
      headers: { Origin: 'https://evil.example', 'Content-Type': 'application/json' },
      body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
    });
    assert.equal(response.status, 403);
  });

  test('invalid JSON is refused with an error of the protocol', async () => {
    const headers = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
    const response = await fetch(`${relay.url}/mcp`, { method: 'POST', headers, body: '{nonsense' });
    assert.equal(response.status, 400);
    assert.equal(((await response.json()) as { error: { code: number } }).error.code, -32700);
  });

  test('an unexpected error is logged and not shown', async () => {
    const { pointers } = relay.core;
    const peek = pointers.peek;
    pointers.peek = () => Promise.reject(new Error('disk of customer 4711 is on fire'));
    try {
      const url = await http.call('push_context', { data: 'x' });
      const answer = await http.call('peek_context', { url });
      assert.equal(answer, 'Error peeking context: The relay failed. See its log.');
      assert.match(JSON.stringify(relay.log), /4711/);
    } finally {
      pointers.peek = peek;
    }
  });
});
