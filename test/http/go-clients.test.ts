import assert from 'node:assert/strict';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { ARTIFACT_BYTES } from '../../src/base/limits.ts';
import { type RelayUnderTest, startRelay, type Wire } from './relay-under-test.ts';

/** Behaviour on which clients and tests of the original Go relay rely. They send JSON and no Accept header. */

let relay: RelayUnderTest;
before(async () => {
  relay = await startRelay();
});
after(() => relay[Symbol.asyncDispose]());

interface Answer {
  readonly status: number;
  readonly json: Wire;
  readonly headers: { readonly [name: string]: string | string[] | undefined };
}

/** Sends a request as Go's http.Client does: without extra headers. */
function ask(method: string, path: string, body?: unknown, headers: object = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const requestOptions = { method, headers: { 'Content-Type': 'application/json', ...headers } };
    const clientRequest = request(`${relay.url}${path}`, requestOptions, async (response) => {
      const answerText = await text(response);
      let json: Wire = answerText;
      try {
        json = JSON.parse(answerText);
      } catch {}
      resolve({ status: response.statusCode!, json, headers: response.headers });
    });
    clientRequest.on('error', reject);
    clientRequest.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

async function newThread(): Promise<string> {
  return (await ask('POST', '/threads', { name: 'from Go' })).json.thread_id;
}

const put = (thread: string, content: string, fields: object = {}) =>
  ask('POST', `/threads/${thread}/artifacts`, {
    name: 'doc.txt',
    type: 'text',
    mime: 'text/plain',
    content,
    ...fields,
  });

test('creating a thread answers 201 with an id and the first state; an unknown thread is 404', async () => {
  const { status, json } = await ask('POST', '/threads', { name: 'from Go' });
  assert.deepEqual([status, json.name, json.state_ref], [201, 'from Go', 'v1']);
  assert.equal((await ask('GET', `/threads/${json.thread_id}`)).status, 200);
  assert.equal((await ask('GET', '/threads/nonexistent')).status, 404);
});

test('a patch without headers makes the next version, and the state shows it', async () => {
  const thread = await newThread();
  assert.equal((await ask('GET', `/threads/${thread}/state/header`)).json.thread_id, thread);
  const op = { op: 'add', path: '/facts/-', value: { id: 'f1', key: 'project', value: 'relay' } };
  const { status, json } = await ask('POST', `/threads/${thread}/state/patch`, [op]);
  assert.deepEqual([status, json.version, json.state_ref], [200, 2, 'v2']);
  const { facts } = (await ask('GET', `/threads/${thread}/state`)).json;
  assert.deepEqual([facts.length, facts[0].key], [1, 'project']);
});

test('an artifact is stored, described and listed, with the path of its file below the home', async () => {
  const thread = await newThread();
  const fields = { name: 'notes.md', type: 'markdown', mime: 'text/markdown' };
  const putResponse = await put(thread, '# Notes\n', fields);
  assert.equal(putResponse.status, 201);
  const { ref } = putResponse.json;
  const path = `threads/${thread}/artifacts/${ref}.md`;
  assert.equal(putResponse.json.path, path);
  const getResponse = await ask('GET', `/threads/${thread}/artifacts/${ref}`);
  assert.deepEqual([getResponse.status, getResponse.json.ref, getResponse.json.path], [200, ref, path]);
  const { artifacts } = (await ask('GET', `/threads/${thread}/artifacts`)).json;
  assert.deepEqual(
    artifacts.map((one: Wire) => [one.ref, one.path]),
    [[ref, path]],
  );
  await ask('DELETE', `/threads/${thread}/artifacts/${ref}`);
  assert.equal((await ask('GET', `/threads/${thread}/artifacts/${ref}`)).json.path, undefined);
});

test('an unknown type is kept, and its content decides whether it is text or binary', async () => {
  const thread = await newThread();
  const putResponse = await put(thread, 'a,b\n', { name: '', type: 'csv', mime: 'text/csv' });
  assert.deepEqual(
    [putResponse.status, putResponse.json.type, putResponse.json.preview.text],
    [201, 'csv', 'a,b\n'],
  );
  const raw = await ask('GET', `/threads/${thread}/artifacts/${putResponse.json.ref}?raw=1`);
  assert.equal(raw.headers['content-type'], 'text/plain; charset=utf-8');
  assert.equal(raw.headers['relay-artifact-type'], 'csv');
  const pdf = await put(thread, '%PDF-1.7', { name: 'x', type: 'paper', mime: 'application/pdf' });
  const bytes = await ask('GET', `/threads/${thread}/artifacts/${pdf.json.ref}?raw=1`);
  assert.equal(bytes.headers['content-type'], 'application/octet-stream');
  const headers = { 'Content-Type': 'application/octet-stream' };
  const uploaded = await ask('POST', `/threads/${thread}/artifacts?name=p&type=poem`, 'roses', headers);
  assert.deepEqual([uploaded.json.mime, uploaded.json.preview.text], ['text/plain', '"roses"']);
  assert.equal((await put(thread, 'x', { type: 'a b' })).status, 400);
  assert.equal((await put(thread, 'x', { type: 'x'.repeat(65) })).status, 400);
});

test('a search returns its findings in the preview, the first time and from the cache', async () => {
  const thread = await newThread();
  const { ref } = (await put(thread, 'relay cuts the use of tokens', { name: 'knowledge.txt' })).json;
  const search = () =>
    ask('POST', '/cap/invoke', {
      capability: 'retrieval.search',
      thread_id: thread,
      args: { query: 'relay tokens' },
    });
  const [first, second] = [await search(), await search()];
  assert.deepEqual([first.status, first.json.capability], [200, 'retrieval.search']);
  assert.deepEqual([first.json.cache_hit, second.json.cache_hit], [false, true]);
  for (const { preview } of [first.json, second.json]) {
    const [hit] = preview.results;
    assert.deepEqual([preview.count, preview.query, preview.results.length], [1, 'relay tokens', 1]);
    assert.deepEqual([hit.ref, hit.type, hit.name], [ref, 'text', 'knowledge.txt']);
    assert.deepEqual([typeof hit.score, typeof hit.snippet], ['number', 'string']);
    assert.match(preview.text, /"query": "relay tokens"/);
  }
  const nothing = await ask('POST', '/cap/invoke', {
    capability: 'retrieval.search',
    thread_id: thread,
    args: { query: 'unheard' },
  });
  assert.deepEqual([nothing.json.preview.count, nothing.json.preview.results], [0, []]);
});

test('every operation on a thread is in its log', async () => {
  const thread = await newThread();
  await put(thread, 'hello');
  const op = { op: 'add', path: '/facts/-', value: { id: 'f', key: 'k', value: 'v' } };
  await ask('POST', `/threads/${thread}/state/patch`, [op]);
  const { events } = (await ask('GET', `/threads/${thread}/events`)).json;
  assert.deepEqual(
    events.map((event: Wire) => event.type),
    ['thread.created', 'artifact.created', 'state.patch.applied'],
  );
});

test('a report shows the tokens that previews saved: more than nothing, and less than everything', async () => {
  const thread = await newThread();
  await put(thread, '# Analysis\n\nThis is longer than any preview.\n\n'.repeat(90), { type: 'markdown' });
  const { status, json } = await ask('POST', `/reports/${thread}`, { format: 'md' });
  assert.deepEqual([status, json.format, typeof json.artifact_ref], [200, 'md', 'string']);
  const { naive_tokens: naive, actual_tokens: actual, avoided_tokens: avoided } = json.token_savings;
  assert.ok(actual > 0 && avoided > 0 && avoided < naive);
});

test('a thread is rendered by POST too: the ref and a preview for the user, never the whole content', async () => {
  const thread = await newThread();
  const content = 'Important context for the agent.\n'.repeat(100);
  const { ref } = (await put(thread, content, { name: 'context.md', type: 'markdown' })).json;
  for (const path of [`/render/${thread}?format=openai`, `/render/${thread}`, `/v1/render/${thread}`]) {
    const { status, json } = await ask('POST', path);
    assert.deepEqual([status, json.thread_id, json.format, json.truncated], [200, thread, 'openai', false]);
    const [system, user] = json.messages;
    assert.deepEqual([system.role, user.role], ['system', 'user']);
    assert.ok(user.content.includes(ref) && !user.content.includes(content));
  }
  assert.deepEqual((await ask('GET', `/render/${thread}`)).json.messages.length, 2);
  const anthropic = await ask('POST', `/render/${thread}?format=anthropic`, {});
  assert.equal(anthropic.json.format, 'anthropic');
  assert.equal((await ask('POST', `/render/${thread}?format=html`)).status, 400);
  assert.equal((await ask('POST', '/render/nonexistent')).status, 404);
});

test('an artifact of more than 50 MiB is refused with 413', async () => {
  const thread = await newThread();
  assert.equal((await put(thread, 'x'.repeat(ARTIFACT_BYTES + 1))).status, 413);
});

test("an artifact's content needs an Accept header", async () => {
  const thread = await newThread();
  const { ref } = (await put(thread, 'hello relay')).json;
  const path = `/threads/${thread}/artifacts/${ref}/content`;
  const refused = await ask('GET', path);
  assert.deepEqual([refused.status, refused.json.code], [406, 'not_acceptable']);
  assert.match(refused.json.hint, /Accept: application\/octet-stream/);
  for (const Accept of ['application/octet-stream', '*/*', 'text/plain']) {
    const { status, json } = await ask('GET', path, undefined, { Accept });
    assert.deepEqual([status, json], [200, 'hello relay']);
  }
  assert.equal((await ask('GET', `/threads/${thread}/artifacts/${ref}?raw=1`)).json, 'hello relay');
});

test('the health says ok', async () => {
  const { status, json } = await ask('GET', '/health');
  assert.deepEqual([status, json.status], [200, 'ok']);
});

test('a method that a known path does not allow is 405, and Allow names the allowed ones', async () => {
  const thread = await newThread();
  const cases: [string, string, string][] = [
    ['DELETE', '/threads', 'GET, HEAD, POST'],
    ['PUT', `/threads/${thread}`, 'DELETE, GET, HEAD'],
    ['POST', `/threads/${thread}/state`, 'GET, HEAD'],
    ['GET', `/threads/${thread}/state/patch`, 'POST'],
    ['GET', '/cap/invoke', 'POST'],
    ['GET', `/reports/${thread}`, 'POST'],
    ['PATCH', `/render/${thread}`, 'GET, HEAD, POST'],
    ['GET', '/v1/push', 'POST'],
    ['GET', '/push/', 'POST'],
    ['POST', '/', 'GET, HEAD'],
    ['POST', '/health', 'GET, HEAD'],
    ['DELETE', '/.well-known/agent-card.json', 'GET, HEAD'],
    ['OPTIONS', '/push', 'POST'],
    ['HEAD', '/push', 'POST'],
  ];
  for (const [method, path, allowed] of cases) {
    const { status, json, headers } = await ask(method, path);
    assert.deepEqual([method, path, status, headers.allow], [method, path, 405, allowed]);
    if (method !== 'HEAD') assert.equal(json.code, 'method_not_allowed');
  }
  for (const method of ['GET', 'POST', 'DELETE']) {
    const { status, json } = await ask(method, `/threads/${thread}/nothing`);
    assert.deepEqual([status, json.code], [404, 'no_route']);
  }
});
