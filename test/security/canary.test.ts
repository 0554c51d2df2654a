import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { WebSocket } from 'ws';
import { ContextRelay } from '../../src/public/index.ts';
import { cleanEnv, relay as command, ENTRY, NODE, temporaryHome } from '../cli/program.ts';
import { ask } from '../keys/guarded-relay.ts';

const CANARY = 'canary-3f9d1c7be2a845';
const place = temporaryHome();
const { home } = place;
let server: ChildProcess | null = null;
after(() => {
  server?.kill('SIGKILL');
  place[Symbol.dispose]();
});

async function start(
  outputChunks: string[],
  ...flags: string[]
): Promise<{ url: string; child: ChildProcess }> {
  const child = spawn(NODE, [ENTRY, 'up', '--port', '0', '--auth', ...flags], {
    env: cleanEnv({ home, env: { RELAY_DEBUG: '1' } }),
    cwd: home,
  });
  server = child;
  const url = await new Promise<string>((resolve, reject) => {
    const hear = (chunk: Buffer) => {
      outputChunks.push(String(chunk));
      const address = /listening on (http:\S+)/.exec(outputChunks.join(''))?.[1];
      if (address) resolve(address);
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    child.once('exit', () => reject(new Error(outputChunks.join(''))));
  });
  return { url, child };
}

/** Sends valid and invalid requests of all kinds, with secrets in every place where people put them. */
async function sendEverything(url: string, key: string): Promise<{ fragment: string; ticket: string }> {
  const client = new ContextRelay({ baseUrl: url, apiKey: key, retries: 0 });
  const encrypted = await client.push(`${CANARY} encrypted`, { encrypted: true, channel: 'work' });
  assert.equal(await client.pull(encrypted), `${CANARY} encrypted`);
  const plain = await client.push(`${CANARY} plain`, { metadata: { note: 'fine' }, idempotencyKey: 'one' });
  await client.pull(plain, { grep: CANARY });
  const fragment = new URL(encrypted).hash.slice('#key='.length);
  const env = { CONTEXTRELAY_URL: url, CONTEXTRELAY_API_KEY: key };
  await command(['pull', encrypted], { home, env });
  await command(['pull', `${encrypted}x`], { home, env });
  await command(['push', '--encrypt'], { home, env, stdin: `${CANARY} encrypted` });
  await command(['keys', 'list'], { home, env });
  await command(['rm', plain], { home, env });
  const wrong = `cr_live_${CANARY.replaceAll('-', '')}${'x'.repeat(20)}`;
  const bad: [string, string, object][] = [
    ['GET', `/pull/x?key=${key}`, {}],
    ['GET', `/${key}/${encodeURIComponent(`#key=${fragment}`)}`, {}],
    ['GET', `/pull/${new URL(encrypted).pathname.split('/').pop()}%23key=${fragment}`, { key }],
    ['POST', '/push', { key, body: `{"data":"${CANARY}`, headers: { 'Content-Type': 'application/json' } }],
    ['POST', '/push', { key, body: { data: CANARY, ttl: key, visibility: fragment } }],
    ['POST', '/push', { key: wrong, body: CANARY }],
    ['POST', '/push', { body: CANARY, headers: { Authorization: `Basic ${key}`, 'Idempotency-Key': key } }],
    ['POST', '/keys', { key, body: { name: `x`, scopes: [key], plan: fragment } }],
    ['DELETE', `/keys/${key}`, { key }],
    ['PUT', '/push', { key, body: CANARY }],
    ['GET', `/usage?month=${key}`, { key }],
    ['GET', `/channels/${fragment}/position?${key}=${fragment}`, { key }],
    ['POST', '/mcp', { key, body: { jsonrpc: '2.0', id: 1, method: key, params: { url: encrypted } } }],
    ['GET', '/metrics', { key, headers: { 'User-Agent': key, Referer: encrypted, Cookie: key } }],
  ];
  for (const [method, path, options] of bad) await ask(url, method, path, options);
  const { json } = await ask(url, 'POST', '/ws-ticket', { key, body: {} });
  const ws = new WebSocket(`${url.replace('http', 'ws')}/ws/work?since=all&ticket=${json.ticket}`);
  await once(ws, 'message');
  ws.send(`{"ack": 1, "token": "${key}"}`);
  ws.send(CANARY);
  ws.terminate();
  const raw = connect(Number(new URL(url).port), '127.0.0.1');
  raw.end(`GET /${key} HTTP/9.9\r\nAuthorization: Bearer ${key}\r\n${CANARY}\r\n\r\n`);
  raw.resume();
  await once(raw, 'close');
  return { fragment, ticket: json.ticket };
}

function* files(folder: string): Generator<string> {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) yield* files(path);
    else yield path;
  }
}

test('keys, fragments and payloads appear only where they belong', async () => {
  const traces: string[] = [];
  const collector = createServer(async (request, response) => {
    for await (const chunk of request) traces.push(String(chunk));
    response.end('{}');
  }).listen(0, '127.0.0.1');
  after(() => {
    collector.closeAllConnections();
    collector.close();
  });
  await once(collector, 'listening');
  const otlp = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
  const meteringFile = join(home, 'usage.jsonl');
  writeFileSync(
    join(home, 'config.json'),
    JSON.stringify({ log_requests: true, otlp_endpoint: otlp, metering_file: meteringFile }),
  );
  const result = await command(
    ['keys', 'create', 'canary', '--scopes', 'push,pull,subscribe,threads,tasks,admin'],
    { home },
  );
  const key = result.stdout.trim();
  assert.match(key, /^cr_live_/);

  const outputChunks: string[] = [];
  const { url, child } = await start(outputChunks);
  const { fragment, ticket } = await sendEverything(url, key);
  const metrics = (await ask(url, 'GET', '/metrics')).text;
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  await exit;

  // Start another server, and kill it during a request.
  const last: string[] = [];
  const crashed = await start(last);
  const dying = connect(Number(new URL(crashed.url).port), '127.0.0.1');
  dying.on('error', () => {});
  dying.write(
    `POST /push HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\nContent-Length: 99\r\n\r\n${CANARY}`,
  );
  await ask(crashed.url, 'GET', '/health');
  const aborted = once(crashed.child, 'exit');
  crashed.child.kill('SIGABRT');
  await aborted;

  const output = outputChunks.join('') + last.join('');
  assert.match(output, /"event":"request"/);
  assert.match(traces.join(''), /pointers\.push/);
  assert.match(readFileSync(meteringFile, 'utf8'), /"operation":"push"/);
  const outputs = { output, metrics, traces: traces.join(''), metering: readFileSync(meteringFile, 'utf8') };
  for (const [where, text] of Object.entries(outputs)) {
    for (const secret of [key, key.slice(8), fragment, ticket, CANARY]) {
      assert.ok(!text.includes(secret), `${secret} in the ${where}`);
    }
  }
  for (const path of files(home)) {
    const bytes = readFileSync(path);
    for (const secret of [key, key.slice(8), fragment, ticket, `${CANARY} encrypted`]) {
      assert.ok(!bytes.includes(secret), `${secret} in ${path}`);
    }
  }
});
