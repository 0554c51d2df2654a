import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openApiDocument } from '../../src/interfaces/http/openapi.ts';
import { OPERATIONS } from '../../src/interfaces/http/operations.ts';
import { startGuarded } from '../keys/guarded-relay.ts';

type Responses = { readonly [status: string]: { readonly content?: { readonly [type: string]: unknown } } };

/** Returns the responses that the OpenAPI document declares for an operation. */
function responsesOf(name: string): Responses {
  const { paths } = openApiDocument(OPERATIONS, 'test') as {
    paths: { [path: string]: { [method: string]: { operationId: string; responses: Responses } } };
  };
  const all = Object.values(paths).flatMap((methods) => Object.values(methods));
  return all.find(({ operationId }) => operationId === name)!.responses;
}

test('every answer is declared in the OpenAPI document: status, content type and body', async () => {
  const plans = { one: { pushes: null, pulls: null, keys: 2, payloadBytes: 1000, ttlMs: 3_600_000 } };
  await using relay = await startGuarded({ core: { plans, defaultPlan: 'one' } });
  const key = await relay.key({
    scopes: ['push', 'pull', 'subscribe', 'threads', 'files', 'tasks', 'admin'],
  });
  const send = (method: string, path: string, body?: unknown, headers = {}) =>
    relay.ask(method, path, { key, body, headers });
  const postJson = async (path: string, body: unknown) => (await send('POST', path, body)).json;
  const json = (await postJson('/push', { data: '{"a":[1,2]}', metadata: { a: 1 } })).id;
  const bytes = (await postJson('/push', new Uint8Array([255, 0]))).id;
  const task = (
    await postJson('/push', { data: 'do it', channel: 'agent-tasks', metadata: { type: 'task' } })
  ).id;
  const { thread_id } = await postJson('/threads', { name: 't' });
  const { ref } = await postJson(`/threads/${thread_id}/artifacts`, { content: '{"a":1}' });
  const thread = `/threads/${thread_id}`;
  const patch = (...ops: object[]) => ['POST', `${thread}/state/patch`, ops] as const;
  const range = { Range: 'bytes=0-1' };
  const cases: [string, number, readonly [string, string, unknown?, object?]][] = [
    ['pointers.pull', 200, ['GET', `/pull/${json}`]],
    ['pointers.pull', 200, ['GET', `/pull/${json}?raw=1`]],
    ['pointers.pull', 200, ['GET', `/pull/${bytes}?raw=1`]],
    ['pointers.pull', 200, ['GET', `/pull/${json}?cost=1`]],
    ['pointers.pull', 200, ['GET', `/pull/${json}?json=/a`]],
    ['pointers.pull', 206, ['GET', `/pull/${json}?raw=1`, undefined, range]],
    ['pointers.pull', 304, ['GET', `/pull/${json}?raw=1`, undefined, { 'If-None-Match': '*' }]],
    ['pointers.pull', 416, ['GET', `/pull/${json}?raw=1`, undefined, { Range: 'bytes=99-' }]],
    ['pointers.pull', 422, ['GET', `/pull/${bytes}?lines=1`]],
    ['usage.get', 200, ['GET', '/usage?format=csv']],
    ['usage.get', 200, ['GET', '/usage']],
    ['capabilities.invoke', 404, ['POST', '/cap/invoke', { capability: 'text', thread_id, args: {} }]],
    ['keys.create', 201, ['POST', '/keys', { name: 'second' }]],
    ['keys.create', 402, ['POST', '/keys', { name: 'third' }]],
    ['tasks.done', 200, ['POST', `/tasks/${task}/done`, { summary: 's' }]],
    ['tasks.done', 409, ['POST', `/tasks/${task}/done`, { summary: 'another' }]],
    ['tasks.fail', 409, ['POST', `/tasks/${task}/fail`, { summary: 'another' }]],
    ['artifacts.get', 200, ['GET', `${thread}/artifacts/${ref}?raw=1`]],
    ['artifacts.get', 206, ['GET', `${thread}/artifacts/${ref}?raw=1`, undefined, range]],
    ['artifacts.content', 200, ['GET', `${thread}/artifacts/${ref}/content`]],
    [
      'artifacts.content',
      416,
      ['GET', `${thread}/artifacts/${ref}/content`, undefined, { Range: 'bytes=99-' }],
    ],
    ['threads.export', 200, ['GET', `${thread}/export`]],
    ['threads.patch', 422, patch({ op: 'add', path: '/facts', value: ['a'] })],
    ['threads.patch', 409, patch({ op: 'test', path: '', value: 'another' })],
    [
      'threads.send',
      201,
      ['POST', `${thread}/envelopes`, { to_capability: 'a', payload: 1 }, { 'Idempotency-Key': '' }],
    ],
    ['channels.socket', 426, ['GET', '/ws/c']],
    ['artifacts.get', 400, ['GET', `${thread}/artifacts/${ref}?raw=AAA`]],
    ['artifacts.get', 400, ['GET', `${thread}/artifacts/${ref}?counted=AAA`]],
    ['artifacts.put', 201, ['POST', `${thread}/artifacts`, { content: 'a', name: null, type: null }]],
    ['pointers.pull', 400, ['GET', `/pull/${json}?raw=AAA`]],
    ['pointers.push', 400, ['POST', '/push?visibility=AAA', { data: 'a' }]],
    ['pointers.push', 400, ['POST', '/push?ttl=315360001', { data: 'a' }]],
    ['pointers.push', 400, ['POST', '/push?count=AAA', { data: 'a' }]],
    ['usage.get', 400, ['GET', '/usage?format=AAA']],
  ];
  for (const [name, status, request] of cases) {
    const answer = await send(...request);
    const where = `${request[0]} ${request[1]}: ${answer.text.slice(0, 200)}`;
    assert.equal(answer.status, status, where);
    const declared = responsesOf(name)[status];
    assert.ok(declared, `${name} declares no ${status}`);
    if (status === 304) continue;
    const type = answer.headers.get('content-type')!.split(';')[0]!;
    assert.ok(declared.content?.[type], `${name} declares no ${type}`);
    const { output } = OPERATIONS.find(({ verb }) => verb.name === name)!;
    if (status < 206 && type === 'application/json') output.parse(answer.json);
  }
});
