import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { a2a } from '../../src/contract/a2a.ts';
import { SCOPES, type Scope } from '../../src/contract/caller.ts';
import type { CreatedKey, NewKey } from '../../src/contract/keys.ts';
import { routeOf, type Verb } from '../../src/contract/verb.ts';
import { OPERATIONS } from '../../src/interfaces/http/operations.ts';
import { type GuardedRelay, startGuarded, upgradeStatus } from './guarded-relay.ts';

/**
 * Calls every operation over every interface with two kinds of keys: without the scope, and for another channel prefix.
 * Fails if an operation on channels is missing from the lists below, so that new operations are tested too.
 */

let relay: GuardedRelay;
/** A task and a pointer on a channel that keys for `mine.` may not access. */
let foreign: { id: string; a2aId: string };

const createKey = (input: Partial<NewKey>): Promise<CreatedKey> => relay.key(input);
const createKeyWithout = (scope: Scope) => createKey({ scopes: SCOPES.filter((each) => each !== scope) });
const createBoundKey = () => createKey({ scopes: [...SCOPES], channel_prefix: 'mine.' });

before(async () => {
  relay = await startGuarded({ core: { defaultPlan: 'team' } });
  const free = await createKey({ scopes: [...SCOPES] });
  const pushed = await relay.ask('POST', '/push?channel=secret&visibility=link', { key: free, body: 'x' });
  await relay.ask('POST', '/agents/spy', { key: free, body: bridge('secret') });
  foreign = { id: pushed.json.id, a2aId: (await sendMessage(free)).json.result.task.id };
});
after(() => relay[Symbol.asyncDispose]());

/** Returns the status of a request without reading the body, which may be an endless stream. */
async function statusOf(
  method: string,
  path: string,
  key: CreatedKey | null,
  body?: unknown,
): Promise<number> {
  const headers: Record<string, string> = { 'Content-Type': 'application/json' };
  if (key) headers.Authorization = `Bearer ${key.key}`;
  const json = body === undefined ? null : JSON.stringify(body);
  const response = await fetch(relay.url + path, { method, headers, body: json });
  await response.body?.cancel();
  return response.status;
}

const NOWHERE = '00000000-0000-4000-8000-000000000000';
const pathOf = (verb: Verb) => routeOf(verb).path.replace(/:\w+(\{[^}]*\})?/g, NOWHERE);

/** Operations that need a key but no scope. */
const ANY_KEY: readonly string[] = ['keys.self'];

test('HTTP: every operation refuses a key without its scope, and accepts a key with only that scope', async () => {
  const lacking = new Map<Scope, CreatedKey>();
  const having = new Map<Scope, CreatedKey>();
  for (const scope of SCOPES) {
    lacking.set(scope, await createKeyWithout(scope));
    having.set(scope, await createKey({ scopes: [scope] }));
  }
  for (const { verb } of OPERATIONS) {
    const { name, scope, byLink } = verb;
    const { method } = routeOf(verb);
    const body = method === 'POST' ? {} : undefined;
    const status = (key: CreatedKey | null) => statusOf(method, pathOf(verb), key, body);
    if (scope === null) {
      assert.ok(ANY_KEY.includes(name), `${name}: a row that anyone may call has to be thought about here`);
      assert.equal(await status(null), 401, `${name} without a key`);
      for (const key of having.values()) assert.equal(await status(key), 200, `${name} with any key`);
      continue;
    }
    assert.equal(await status(null), byLink ? 404 : 401, `${name} without a key`);
    assert.equal(await status(lacking.get(scope)!), 403, `${name} without the scope ${scope}`);
    assert.ok(![401, 403].includes(await status(having.get(scope)!)), `${name} with the scope ${scope}`);
  }
});

/** For each operation on channels, a request that names a foreign channel. */
const TOUCHES: { readonly [name: string]: () => readonly [path: string, body?: unknown] } = {
  'pointers.list': () => ['/pointers?channel=secret'],
  'pointers.push': () => ['/push?channel=secret', { data: 'x', channel: 'secret' }],
  'channels.inspect': () => ['/channels/secret'],
  'channels.position': () => ['/channels/secret/position'],
  'channels.publish': () => ['/channels/secret', { msg: 1 }],
  'channels.events': () => ['/channels/secret/events'],
  'channels.ack': () => ['/channels/secret/groups/g/ack', { seq: 1, token: 1 }],
  'channels.nack': () => ['/channels/secret/groups/g/nack', { seq: 1, token: 1 }],
  'channels.extend': () => ['/channels/secret/groups/g/extend', { seq: 1, token: 1 }],
  'channels.dead': () => ['/channels/secret/dead'],
  'channels.retry_dead': () => ['/channels/secret/dead/1/retry'],
  'channels.drop_dead': () => ['/channels/secret/dead/1'],
  'channels.set_group': () => ['/channels/secret/groups/g', {}],
  'channels.remove': () => ['/channels/secret'],
  'channels.remove_group': () => ['/channels/secret/groups/g'],
  'inbox.mark_read': () => ['/inbox/me/read', { cursors: { secret: 1 } }],
  'inbox.follow': () => ['/inbox/me/channels', { channel: 'secret' }],
  'inbox.unfollow': () => ['/inbox/me/channels/secret'],
  'receipts.get': () => [`/pull/${foreign.id}/receipts`],
  'tasks.list': () => ['/tasks?channel=secret'],
  'tasks.get': () => [`/tasks/${foreign.id}`],
  'tasks.done': () => [`/tasks/${foreign.id}/done`, { summary: 'x' }],
  'tasks.fail': () => [`/tasks/${foreign.id}/fail`, { summary: 'x' }],
  'tasks.cancel': () => [`/tasks/${foreign.id}/cancel`, {}],
  'agents.beat': () => ['/agents/spy', bridge('secret')],
  'agents.leave': () => ['/agents/spy/one'],
  'agents.enter': () => ['/agents/spy/session', SESSION],
  'agents.allow': () => ['/agents/spy/allow', { sender: 'x' }],
  'agents.send': () => ['/messages', { to: 'spy', text: 'x' }],
  'agents.messages': () => ['/agents/spy/messages'],
  'agents.take': () => ['/agents/spy/take', {}],
  'agents.mark': () => ['/agents/spy/messages', { ids: ['x'], as: 'read' }],
  'agents.claim': () => ['/claims', { project: 'p', what: 'x' }],
  'agents.release': () => ['/claims/release', { project: 'p', what: 'x' }],
};

test('HTTP: every operation on a channel refuses a key for other channels', async () => {
  const key = await createBoundKey();
  const touching = OPERATIONS.filter(({ verb }) => verb.channels && verb.name !== 'channels.socket');
  assert.deepEqual(touching.map(({ verb }) => verb.name).sort(), Object.keys(TOUCHES).sort());
  for (const { verb } of touching) {
    const [path, body] = TOUCHES[verb.name]!();
    // A pointer that the key may not access gets the answer of an unknown pointer.
    const status = verb.name === 'receipts.get' ? 404 : 403;
    assert.equal(await statusOf(routeOf(verb).method, path, key, body), status, verb.name);
  }
  const pushed = await relay.ask('GET', `/pull/${foreign.id}`);
  assert.equal(pushed.status, 200, 'what is readable by its link stays so');
});

test('HTTP: a push cannot settle a task, announce anything or take over a bridge on a foreign channel', async () => {
  const key = await createBoundKey();
  const free = await createKey({});
  const metadata = { task_id: foreign.id, status: 'done', summary: 'forged' };
  assert.equal(await statusOf('POST', '/push', key, { data: 'x', metadata }), 403);
  const task = await relay.ask('GET', `/tasks/${foreign.id}`, { key: free });
  assert.equal(task.json.result, null);
  assert.ok(!JSON.stringify(task.json.receipts).includes('forged'));
  const body = { data: 'x', channel: 'mine.t', metadata: { done_channel: 'secret' } };
  assert.equal(await statusOf('POST', '/push', key, body), 403);
  assert.equal(await statusOf('POST', '/agents/spy', key, bridge('mine.t')), 403, 'it is somebody else’s');
  const elsewhere = { ...bridge('mine.t'), done_channel: 'secret' };
  assert.equal(await statusOf('POST', '/agents/other', key, elsewhere), 403);
});

test('HTTP: lists leave out what the key may not access', async () => {
  const key = await createBoundKey();
  const free = await createKey({});
  for (const [path, list] of [
    ['/channels', 'channels'],
    ['/tasks', 'tasks'],
    ['/agents', 'agents'],
    ['/pointers', 'pointers'],
  ] as const) {
    assert.notDeepEqual((await relay.ask('GET', path, { key: free })).json[list], [], path);
    assert.deepEqual((await relay.ask('GET', path, { key })).json[list], [], path);
  }
});

test('WebSocket: an upgrade is refused without a key, without the scope and on a foreign channel', async () => {
  const reader = await createKey({ scopes: ['subscribe'], channel_prefix: 'mine.' });
  assert.equal(await upgrade('/ws/secret', null), 401);
  assert.equal(await upgrade('/ws/mine.a', await createKeyWithout('subscribe')), 403);
  assert.equal(await upgrade('/ws/secret', reader), 403);
  assert.equal(await upgrade('/v1/ws/secret?group=g', reader), 403);
  const { json } = await relay.ask('POST', '/ws-ticket', { key: reader });
  assert.equal(await upgrade(`/ws/secret?ticket=${json.ticket}`, null), 403, 'by ticket');
  assert.equal(await upgrade('/ws/mine.a', reader), 101);
});

const upgrade = (path: string, key: CreatedKey | null) => upgradeStatus(relay.url, path, key);

/** Arguments for each tool. Tools on channels get a foreign channel. */
const TOOLS: { readonly [tool: string]: { scope: Scope; args: object; channel?: true } } = {
  push_context: { scope: 'push', args: { data: 'x', channel: 'secret' }, channel: true },
  peek_context: { scope: 'pull', args: { url: NOWHERE } },
  pull_context: { scope: 'pull', args: { url: NOWHERE } },
  bridge_task: { scope: 'tasks', args: { task: 'x', task_channel: 'secret' }, channel: true },
  task_result: { scope: 'tasks', args: { task: NOWHERE } },
  agents: { scope: 'tasks', args: {} },
  send: { scope: 'tasks', args: { to: 'spy', text: 'x' }, channel: true },
  reply: { scope: 'tasks', args: { message: 'x', text: 'x' } },
  messages: { scope: 'tasks', args: { agent: 'spy' }, channel: true },
  channel_publish: { scope: 'push', args: { channel: 'secret', message: 'x' }, channel: true },
  channel_read: { scope: 'subscribe', args: { channel: 'secret' }, channel: true },
  inbox_read: { scope: 'subscribe', args: { agent: 'ann' } },
  inbox_follow: { scope: 'subscribe', args: { agent: 'ann', channel: 'secret' }, channel: true },
  inbox_mark_read: { scope: 'subscribe', args: { agent: 'ann', cursors: { secret: 1 } }, channel: true },
  thread_header: { scope: 'threads', args: { thread_id: NOWHERE } },
  thread_patch: { scope: 'threads', args: { thread_id: NOWHERE, ops: [{ op: 'remove', path: '/x' }] } },
  artifact_put: { scope: 'threads', args: { thread_id: NOWHERE, name: 'x', content: 'x' } },
  artifact_get: { scope: 'threads', args: { thread_id: NOWHERE, ref: 'x' } },
  artifact_search: { scope: 'threads', args: { thread_id: NOWHERE, query: 'x' } },
};

test('MCP: a tool is neither offered nor served without its scope, nor served on a foreign channel', async () => {
  const all = await mcp(await createKey({ scopes: [...SCOPES] }));
  assert.deepEqual((await all.listTools()).tools.map(({ name }) => name).sort(), Object.keys(TOOLS).sort());
  await all.close();
  for (const scope of SCOPES) {
    const client = await mcp(await createKeyWithout(scope));
    const offered = (await client.listTools()).tools.map(({ name }) => name);
    for (const [name, tool] of Object.entries(TOOLS)) {
      if (tool.scope !== scope) continue;
      assert.ok(!offered.includes(name), `${name} is offered without ${scope}`);
      assert.ok(await failsOn(client, name, tool.args, /not found/i), `${name} without ${scope}`);
    }
    await client.close();
  }
  const client = await mcp(await createBoundKey());
  for (const [name, { args, channel }] of Object.entries(TOOLS)) {
    if (channel) assert.ok(await failsOn(client, name, args, /may only use channels/), name);
  }
  await client.close();
});

async function mcp({ key }: CreatedKey): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' });
  const requestInit = { headers: { Authorization: `Bearer ${key}` } };
  await client.connect(
    new StreamableHTTPClientTransport(new URL('/mcp?tools=agents', relay.url), { requestInit }),
  );
  return client;
}

/** Returns whether a tool call was refused, by an error result or because the tool is not offered. */
async function failsOn(client: Client, name: string, args: object, why: RegExp): Promise<boolean> {
  try {
    const answer = await client.callTool({ name, arguments: { ...args } });
    return answer.isError === true && why.test(JSON.stringify(answer.content));
  } catch (error) {
    return why.test((error as Error).message);
  }
}

/** JSON-RPC method and parameters for every A2A operation on a task. */
const A2A_CALLS: { readonly [name: string]: (id: string) => object } = {
  'a2a.GetTask': (id) => ({ id }),
  'a2a.CancelTask': (id) => ({ id }),
  'a2a.SubscribeToTask': (id) => ({ id }),
  'a2a.CreateTaskPushNotificationConfig': (taskId) => ({ taskId, id: 'h', url: 'https://hook.example/' }),
  'a2a.GetTaskPushNotificationConfig': (taskId) => ({ taskId, id: 'h' }),
  'a2a.ListTaskPushNotificationConfigs': (taskId) => ({ taskId }),
  'a2a.DeleteTaskPushNotificationConfig': (taskId) => ({ taskId, id: 'h' }),
};

test('A2A: every call requires the scope, and finds no task on a foreign channel', async () => {
  const rest = ['a2a.GetAgentCard', 'a2a.SendMessage', 'a2a.ListTasks'];
  const names = Object.values(a2a).map((verb) => verb.name);
  assert.deepEqual(names.sort(), [...Object.keys(A2A_CALLS), ...rest].sort());
  const [key, free, lacking] = [await createBoundKey(), await createKey({}), await createKeyWithout('tasks')];
  const ownKey = await createKey({ channel_prefix: 'agent-' });
  for (const [name, params] of Object.entries(A2A_CALLS)) {
    const ask = (as: CreatedKey | null) => rpc(as, name.slice(4), params(foreign.a2aId));
    assert.equal((await ask(null)).status, 401, name);
    assert.equal((await ask(lacking)).status, 403, name);
    assert.equal((await ask(key)).json.error?.code, -32001, `${name}: no such task`);
  }
  assert.equal((await rpc(free, 'GetTask', { id: foreign.a2aId })).json.result.id, foreign.a2aId);
  assert.equal((await rpc(ownKey, 'GetTask', { id: foreign.a2aId })).json.result.id, foreign.a2aId);
  assert.deepEqual((await rpc(key, 'ListTasks', {})).json.result.tasks ?? [], []);
  assert.equal((await rpc(free, 'ListTasks', {})).json.result.tasks.length, 1);
  assert.equal((await sendMessage(lacking)).status, 403);
  assert.match((await sendMessage(key)).json.error.message, /may only use channels/);
  assert.equal(
    (await relay.ask('GET', '/a2a/spy/.well-known/agent-card.json', { key: lacking })).status,
    403,
  );
  assert.equal((await relay.ask('GET', '/a2a/spy/.well-known/agent-card.json', { key })).status, 404);
  for (const path of [`tasks/${foreign.a2aId}`, `tasks/${foreign.a2aId}/pushNotificationConfigs`]) {
    const headers = { 'A2A-Version': '1.0' };
    assert.equal((await relay.ask('GET', `/a2a/relay/${path}`, { key, headers })).status, 404, path);
    assert.equal((await relay.ask('GET', `/a2a/relay/${path}`, { key: lacking, headers })).status, 403, path);
  }
});

function rpc(key: CreatedKey | null, method: string, params: object) {
  const body = { jsonrpc: '2.0', id: 1, method, params };
  return relay.ask('POST', '/a2a/relay', { key: key ?? undefined, body, headers: { 'A2A-Version': '1.0' } });
}

function sendMessage(key: CreatedKey) {
  const parts = [{ text: 'do it' }];
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts };
  return rpc(key, 'SendMessage', { message, configuration: { returnImmediately: true } });
}

const SESSION = {
  client: 'codex',
  session: 's1',
  folder: '/',
  machine: 'm',
  reach: 'now',
  busy: false,
  inbound: 'known',
  named: true,
};

function bridge(task_channel: string) {
  return {
    instance: 'one',
    runner: 'exec',
    target: 'true',
    task_channel,
    done_channel: task_channel,
    concurrency: 1,
    running: [],
    done: 0,
    failed: 0,
    started_at: '2026-01-01T00:00:00Z',
  };
}
