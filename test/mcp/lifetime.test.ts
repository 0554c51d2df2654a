import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, test } from 'node:test';
import { cleanEnv, ENTRY, NODE, temporaryHome } from '../cli/program.ts';
import { startRelay } from '../http/relay-under-test.ts';
import { ERAS, overHttp, overStdio } from './clients.ts';
import { openRestartable } from './restart.ts';

const home = temporaryHome();
after(() => home[Symbol.dispose]());

function server(args: readonly string[] = []): ChildProcess {
  return spawn(NODE, [ENTRY, 'mcp', ...args], {
    env: cleanEnv({ home: home.home }),
    cwd: home.home,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
}

async function ask(child: ChildProcess, id: number, method: string, params: unknown): Promise<string> {
  child.stdin!.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
  const [answer] = await once(child.stdout!, 'data');
  return String(answer);
}

const HELLO = {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'old', version: '1' },
};

test('an older client is answered in its own protocol revision', async () => {
  const child = server();
  assert.match(await ask(child, 1, 'initialize', HELLO), /"protocolVersion":"2025-06-18"/);
  child.stdin!.end();
  assert.deepEqual(await once(child, 'exit'), [0, null]);
});

test('the server ends when standard input ends, also while a tool waits', async () => {
  const child = server();
  await ask(child, 1, 'initialize', HELLO);
  child.stdin!.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  await ask(child, 2, 'tools/call', { name: 'push_context', arguments: { data: 'x' } });
  child.stdin!.write(
    '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"bridge_task","arguments":{"task":"wait"}}}\n',
  );
  await ask(child, 4, 'ping', {});
  child.stdin!.end();
  assert.deepEqual(await once(child, 'exit'), [0, null]);
});

test('requests sent before standard input ended are answered, as a shell pipe expects', async () => {
  const child = server();
  const push = { name: 'push_context', arguments: { data: 'from a pipe' } };
  const lines = [
    { jsonrpc: '2.0', id: 1, method: 'initialize', params: HELLO },
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', id: 2, method: 'tools/call', params: push },
  ];
  child.stdin!.end(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  let output = '';
  for await (const chunk of child.stdout!) output += chunk;
  assert.match(output, /"text":"http:[^"]+\/pull\/[0-9a-f-]{36}"[^\n]+"id":2/);
});

test('the server ends when nobody reads its output', async () => {
  const child = server();
  await ask(child, 1, 'initialize', HELLO);
  child.stdout!.destroy();
  // Keep sending requests: the server notices the closed pipe only when it writes an answer.
  const telling = setInterval(() => child.stdin!.write('{"jsonrpc":"2.0","id":9,"method":"ping"}\n'), 20);
  child.stdin!.on('error', () => {});
  await once(child, 'exit');
  clearInterval(telling);
});

test('the server survives garbage on standard input', async () => {
  const child = server();
  child.stdin!.write('hello?\n{"jsonrpc":"2.0"}\n[]\n');
  assert.match(await ask(child, 1, 'initialize', HELLO), /"serverInfo"/);
  child.stdin!.end();
  await once(child, 'exit');
});

for (const era of ERAS) {
  test(`a client over HTTP keeps working across a restart of the server (${era})`, async () => {
    await using relay = await openRestartable(home.home);
    await using mcp = await overHttp(relay.url, era);
    const url = await mcp.call('push_context', { data: 'before', summary: 's' });
    await relay.restart();
    assert.equal(await mcp.call('pull_context', { url }), 'before');
    assert.match(await mcp.call('push_context', { data: 'after' }), /^http/);
  });

  test(`a client over stdio keeps working across a restart of the relay server (${era})`, async () => {
    await using relay = await openRestartable(home.home);
    await using mcp = await overStdio(home.home, era, { env: { CONTEXTRELAY_URL: relay.url } });
    const url = await mcp.call('push_context', { data: 'before' });
    await relay.restart();
    assert.equal(await mcp.call('pull_context', { url }), 'before');
  });
}

test('a stream of changes ends when the server stops', async () => {
  const relay = await startRelay();
  await using mcp = await overHttp(relay.url, '2026-07-28');
  await mcp.client.listen({ resourceSubscriptions: ['relay://channel/x'] });
  await relay[Symbol.asyncDispose]();
});
