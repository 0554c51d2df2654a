import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { AgentBridge } from '../../src/client/bridge/agent-bridge.ts';
import type { Runner } from '../../src/client/bridge/runner.ts';
import { ContextRelay } from '../../src/sdk/context-relay.ts';
import { type RelayUnderTest, startRelay } from '../http/relay-under-test.ts';
import { a2aClient, answerTasks, request, resultOf } from './agents.ts';

let relay: RelayUnderTest;
before(async () => {
  relay = await startRelay();
});
after(() => relay[Symbol.asyncDispose]());

const card = async (path: string, headers: Record<string, string> = {}) =>
  (await (await fetch(`${relay.url}${path}`, { headers })).json()) as Record<string, unknown>;

test('the card is at the standard path and describes the agent', async () => {
  const agentCard = await card('/.well-known/agent-card.json', { 'A2A-Version': '1.0' });
  assert.equal(agentCard.name, 'ContextRelay');
  const interfaces = agentCard.supportedInterfaces as {
    url: string;
    protocolBinding: string;
    protocolVersion: string;
  }[];
  assert.deepEqual(
    interfaces.map((one) => [one.url, one.protocolBinding, one.protocolVersion]),
    [
      [`${relay.url}/a2a/relay`, 'JSONRPC', '1.0'],
      [`${relay.url}/a2a/relay`, 'HTTP+JSON', '1.0'],
      [`${relay.url}/a2a/relay`, 'JSONRPC', '0.3'],
    ],
  );
  assert.match(JSON.stringify(agentCard.capabilities), /max_inline_bytes":16384/);
  assert.deepEqual(await card('/a2a/relay/.well-known/agent-card.json', { 'A2A-Version': '1.0' }), agentCard);
});

test('behind a trusted proxy the card names the address that the client used', async () => {
  await using proxied = await startRelay({ server: { trustedProxies: ['loopback'] } });
  const headers = { 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'relay.example' };
  const answer = await fetch(`${proxied.url}/.well-known/agent-card.json`, { headers });
  const { supportedInterfaces } = (await answer.json()) as { supportedInterfaces: { url: string }[] };
  assert.equal(supportedInterfaces[0]!.url, 'https://relay.example/a2a/relay');
});

test('a task whose id in the path is broken percent-encoding is not found', async () => {
  const broken = await fetch(`${relay.url}/a2a/relay/tasks/%E0%A4%A`, { headers: { 'A2A-Version': '1.0' } });
  assert.equal(broken.status, 404);
});

test('a running bridge has its own card and endpoint', async () => {
  const missing = await fetch(`${relay.url}/a2a/reviewer/.well-known/agent-card.json`);
  assert.equal(missing.status, 404);
  assert.match(((await missing.json()) as { hint: string }).hint, /relay bridge start --name/);
  const hub = new ContextRelay({ baseUrl: relay.url });
  const runner: Runner = {
    kind: 'exec',
    target: 'test',
    open: async () => {},
    run: async ({ prompt }) => ({ output: `reviewed: ${prompt.split('\n')[0]}` }),
    close: async () => {},
  };
  const worker = await new AgentBridge(hub, { name: 'reviewer', runner }).start();
  const agentCard = await card('/a2a/reviewer/.well-known/agent-card.json', { 'A2A-Version': '1.0' });
  assert.equal(agentCard.name, 'reviewer');
  const client = await a2aClient(relay.url, 'HTTP+JSON', 'a2a/reviewer/');
  const task = await client.sendMessage(request('the diff'));
  assert.ok('artifacts' in task);
  assert.match(resultOf(task), /reviewed: the diff/);
  await worker.stop();
});

test('the card follows A2A 1.0 only, and If-None-Match answers 304', async () => {
  const at = `${relay.url}/.well-known/agent-card.json`;
  const first = await fetch(at);
  const agentCard = (await first.json()) as Record<string, unknown>;
  for (const older of ['url', 'preferredTransport', 'protocolVersion', 'supportsAuthenticatedExtendedCard'])
    assert.equal(older in agentCard, false, older);
  const tag = first.headers.get('etag') ?? assert.fail('no ETag');
  assert.match(first.headers.get('cache-control')!, /max-age=\d+/);
  assert.ok(Date.parse(first.headers.get('last-modified')!) <= Date.now());
  const again = await fetch(at, { headers: { 'If-None-Match': `"other", W/${tag}` } });
  assert.equal(again.status, 304);
  assert.equal(again.headers.get('etag'), tag);
  assert.equal(await again.text(), '');
  assert.equal((await fetch(at, { headers: { 'If-None-Match': '"other"' } })).status, 200);
});

test('the version may also be a query parameter', async () => {
  assert.equal((await card('/.well-known/agent-card.json?A2A-Version=0.3')).protocolVersion, '0.3');
  const refused = await fetch(`${relay.url}/a2a/relay/tasks?A2A-Version=9.9`);
  assert.equal(refused.status, 400);
  assert.match(await refused.text(), /VERSION_NOT_SUPPORTED/);
  assert.equal((await fetch(`${relay.url}/a2a/relay/tasks?A2A-Version=1.0`)).status, 200);
});

test('answers over HTTP+JSON use the media type of the client', async () => {
  const typeOf = async (o: RequestInit, path = 'tasks/none') => {
    const headers = { 'A2A-Version': '1.0', ...o.headers };
    return (await fetch(`${relay.url}/a2a/relay/${path}`, { ...o, headers })).headers.get('content-type');
  };
  assert.equal(await typeOf({}), 'application/json');
  assert.equal(await typeOf({}, 'tasks'), 'application/json');
  assert.equal(await typeOf({ headers: { Accept: 'application/a2a+json' } }), 'application/a2a+json');
  const asA2A = { method: 'POST', headers: { 'Content-Type': 'application/a2a+json' }, body: '{}' };
  assert.equal(await typeOf(asA2A, 'message:send'), 'application/a2a+json');
});

test('a body with another media type than JSON is refused over both bindings', async () => {
  const headers = { 'Content-Type': 'text/plain', 'A2A-Version': '1.0' };
  const rest = await fetch(`${relay.url}/a2a/relay/message:send`, { method: 'POST', headers, body: '{}' });
  assert.equal(rest.status, 415);
  const { error } = (await rest.json()) as { error: { code: number; details: { reason: string }[] } };
  assert.deepEqual([error.code, error.details[0]!.reason], [415, 'CONTENT_TYPE_NOT_SUPPORTED']);
  const rpc = await fetch(`${relay.url}/a2a/relay`, { method: 'POST', headers, body: "{'jsonrpc': '2.0'}" });
  assert.equal(((await rpc.json()) as { error: { code: number } }).error.code, -32005);
});

test('an extended card is not supported, as the card says', async () => {
  const headers = { 'A2A-Version': '1.0' };
  const answer = await fetch(`${relay.url}/a2a/relay/extendedAgentCard`, { headers });
  assert.equal(answer.status, 400);
  assert.match(await answer.text(), /UNSUPPORTED_OPERATION/);
});

test('a client of version 0.3 reads the card, sends and streams', async () => {
  const agentCard = await card('/.well-known/agent.json');
  assert.deepEqual(await card('/.well-known/agent-card.json', { 'A2A-Version': '0.3' }), agentCard);
  assert.equal(agentCard.protocolVersion, '0.3');
  assert.equal(agentCard.url, `${relay.url}/a2a/relay`);
  await using _bridge = answerTasks(relay.url, (task) => `older: ${task}`);
  const message = {
    kind: 'message',
    messageId: 'm-1',
    role: 'user',
    parts: [{ kind: 'text', text: 'hello' }],
  };
  const call = (method: string, params: unknown) =>
    fetch(agentCard.url as string, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
  const answer = (await (
    await call('message/send', { message, configuration: { blocking: true } })
  ).json()) as {
    result: { kind: string; status: { state: string }; artifacts: { parts: { text: string }[] }[] };
  };
  assert.equal(answer.result.kind, 'task');
  assert.equal(answer.result.status.state, 'completed');
  assert.equal(answer.result.artifacts[0]!.parts[0]!.text, 'older: hello');
  const streamed = await (await call('message/stream', { message: { ...message, messageId: 'm-2' } })).text();
  assert.match(streamed, /"kind":"artifact-update"/);
  assert.match(streamed, /"final":true/);
});

test("errors are answered in the protocol's format, and details of unexpected errors are hidden", async () => {
  const headers = { 'Content-Type': 'application/json', 'A2A-Version': '1.0' };
  const rpc = async (body: string) =>
    (await (
      await fetch(`${relay.url}/a2a`, { method: 'POST', headers, body, signal: AbortSignal.timeout(20_000) })
    ).json()) as {
      error: { code: number; message: string };
    };
  assert.equal((await rpc('{nonsense')).error.code < 0, true);
  assert.equal((await rpc('{"jsonrpc":"2.0","id":1,"method":"NoSuch","params":{}}')).error.code, -32601);
  const version = await fetch(`${relay.url}/a2a/relay/tasks`, { headers: { 'A2A-Version': '9.9' } });
  assert.equal(version.status, 400);
  const type = await fetch(`${relay.url}/a2a/relay/message:send`, {
    method: 'POST',
    headers: { 'Content-Type': 'text/xml', 'A2A-Version': '1.0' },
    body: '<x/>',
  });
  assert.equal(type.status, 415);
  const { core } = relay;
  const { push } = core.pointers;
  core.pointers.push = () => Promise.reject(new Error('disk 4711 is on fire'));
  try {
    const message = { messageId: 'm-3', role: 'ROLE_USER', parts: [{ text: 'x' }] };
    const { error } = await rpc(
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }),
    );
    assert.equal(error.message, 'The relay failed. See its log.');
    assert.match(JSON.stringify(relay.log), /4711/);
  } finally {
    core.pointers.push = push;
  }
});

test('a wrong method is answered with the path and the allowed methods', async () => {
  const answer = await fetch(`${relay.url}/a2a/relay`);
  assert.equal(answer.status, 405);
  const failure = (await answer.json()) as { error: string; hint: string };
  assert.equal(failure.error, '/a2a/relay does not support GET.');
  assert.equal(failure.hint, 'Use one of: POST.');
});
