import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { WebSocket } from 'ws';
import type { Env } from '../../src/base/env.ts';
import { openMemory } from '../../src/engines/memory/engine.ts';
import { startRelay } from '../http/relay-under-test.ts';
import { until } from '../until.ts';
import { cleanEnv, relay, temporaryHome } from './program.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** Files that a server would load only on first use. The test deletes these files while the server runs. */
const LATE = [
  'src/interfaces/mcp',
  'src/interfaces/a2a',
  'src/domain/threads',
  'src/text/parts/re2-matcher.ts',
  'src/app/store/text-worker.ts',
];

/** Starts a server from a copy of the sources, so that the test can replace the copy while the server runs. */
async function startCopy(t: TestContext) {
  const place = temporaryHome();
  const { home } = place;
  const folder = mkdtempSync(join(tmpdir(), 'relay-package-'));
  for (const name of ['bin', 'src', 'package.json'])
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const child = spawn(process.execPath, [join(folder, 'bin/relay.ts'), 'up', '--port', '0'], {
    env: cleanEnv({ home }),
    cwd: home,
  });
  t.after(async () => {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    rmSync(folder, { recursive: true, force: true });
    place[Symbol.dispose]();
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  await until(() => /listening on http:\S+\n/.test(output));
  const url = /listening on (http:\S+)/.exec(output)![1]!;
  const replace = () => {
    for (const late of LATE) rmSync(join(folder, late), { recursive: true });
    const version = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...version, version: '9.9.9' }));
  };
  return { home, url, replace, output: () => output };
}

const JSON_TYPE = { 'Content-Type': 'application/json' };

test('a server whose package was replaced reports it, and answers 503 if it cannot load a file', async (t) => {
  const { home, url, replace, output } = await startCopy(t);
  const pushed = await (await fetch(`${url}/push`, { method: 'POST', body: 'one\ntwo\n' })).json();
  assert.deepEqual(await (await fetch(`${url}/ready`)).json(), { status: 'ready' });
  replace();
  const requests: [string, RequestInit?][] = [
    ['/mcp', { method: 'POST', headers: JSON_TYPE, body: '{}' }],
    ['/.well-known/agent-card.json'],
    ['/threads', { method: 'POST', headers: JSON_TYPE, body: '{}' }],
    [`${new URL(pushed.url).pathname}?grep=one`],
    [`${new URL(pushed.url).pathname}?cost=1`],
  ];
  for (const [path, init] of requests) {
    const response = await fetch(url + path, init);
    const body = await response.json();
    assert.equal(response.status, 503, `${path}: ${JSON.stringify(body)}`);
    assert.equal(body.code, 'package_replaced', path);
    assert.match(body.hint, /relay down, then relay up/);
  }
  const ready = await fetch(`${url}/ready`);
  assert.equal(ready.status, 200, 'what is loaded goes on working');
  assert.match((await ready.json()).restart, /replaced/);
  await until(() => /"event":"package-replaced"/.test(output()));
  const status = await relay(['status'], { home });
  assert.match(status.stdout, /package .* replaced .*restart/i);
});

test('an MCP tool that can no longer be loaded reports it', async (t) => {
  const { url, replace } = await startCopy(t);
  const mcp = async (method: string, params: object) => {
    const headers = { ...JSON_TYPE, Accept: 'application/json, text/event-stream' };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    return fetch(`${url}/mcp`, { method: 'POST', headers, body });
  };
  assert.match(await (await mcp('tools/list', {})).text(), /thread_patch/);
  assert.equal((await fetch(`${url}/.well-known/agent-card.json`)).status, 200);
  replace();
  const answer = await mcp('tools/call', { name: 'thread_header', arguments: { thread_id: 'a' } });
  assert.equal(answer.status, 200);
  assert.match(await answer.text(), /was replaced while it was running.*relay down, then relay up/);
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'do it' }] };
  const init = { method: 'POST', headers: { ...JSON_TYPE, 'A2A-Version': '1.0' } };
  const response = await fetch(`${url}/a2a/relay/message:send`, {
    ...init,
    body: JSON.stringify({ message }),
  });
  assert.equal(response.status, 503, await response.clone().text());
  assert.match(await response.text(), /was replaced while it was running/);
});

test('a WebSocket that needs a replaced file is rejected with 503', async (t) => {
  const open = (env: Env) => {
    const engine = openMemory({ env });
    t.mock.method(engine.logs, 'info', async () => assert.fail('half of the program is another one'));
    return engine;
  };
  await using server = await startRelay({ open, server: { replaced: () => true } });
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}/ws/c`);
  const [request, response] = await once(socket, 'unexpected-response');
  const { code } = JSON.parse(await text(response));
  request.destroy();
  assert.deepEqual([response.statusCode, code], [503, 'package_replaced']);
});
