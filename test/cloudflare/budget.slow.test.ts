import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startWorker } from '../../scripts/cloudflare/local-worker.ts';
import { ContextRelay } from '../../src/sdk/context-relay.ts';

/** Tests requests that a Worker must reject: Cloudflare would abort the Worker, but a local workerd would not. */

const MiB = 1024 * 1024;
const FREE_PLAN = 16 * 1024;

type Worker = Awaited<ReturnType<typeof startWorker>>;
let worker: Worker;
let small: Worker;

before(async () => {
  [worker, small] = await Promise.all([
    startWorker(),
    startWorker({ vars: { RELAY_TEXT_BYTES: String(FREE_PLAN) } }),
  ]);
});
after(() => Promise.all([worker.stop(), small.stop()]));

/** A line of ordinary text. */
const LINE = 'the quick brown fox jumps over 12345 lazy dogs, again.\n';
/** Returns lines of ordinary text with exactly this many bytes. */
const textOf = (bytes: number) => LINE.repeat(Math.ceil(bytes / LINE.length)).slice(0, bytes);
const jsonOf = (bytes: number) => `["${'x'.repeat(bytes - 6)}",1]`.slice(-bytes);

/** Retries after a connection reset. workerd may close the connection before it has read a rejected body. */
async function send(
  url: string,
  body: string,
  type: string,
  tries = 5,
): Promise<{ status: number; body: string }> {
  try {
    const answer = await fetch(url, { method: 'POST', headers: { 'Content-Type': type }, body });
    return { status: answer.status, body: await answer.text() };
  } catch (error) {
    if (tries === 1) throw error;
    return send(url, body, type, tries - 1);
  }
}

async function pushed(to: Worker, body: string, query = ''): Promise<{ id: string; tokens?: number }> {
  const { status, body: answer } = await send(`${to.url}/push${query}`, body, 'text/plain');
  assert.equal(status, 200, answer);
  return JSON.parse(answer);
}

async function ask(to: Worker, path: string): Promise<{ status: number; text: string }> {
  const answer = await fetch(to.url + path);
  return { status: answer.status, text: await answer.text() };
}

function assertTooCostly({ status, text }: { status: number; text: string }, limit: RegExp): void {
  const { error, code, hint } = JSON.parse(text);
  assert.deepEqual([status, code], [422, 'too_costly']);
  assert.match(error, limit);
  assert.match(hint, /lines=1-100.*Range header/);
}

test('an outline and a JSON value work up to 4 MiB, and larger payloads are rejected with a hint', async () => {
  const most = await pushed(worker, jsonOf(4 * MiB));
  const more = await pushed(worker, jsonOf(4 * MiB + 1));
  for (const part of ['outline=1', 'json=/1']) {
    const taken = await ask(worker, `/pull/${most.id}?${part}`);
    assert.equal(taken.status, 200, taken.text);
    assertTooCostly(
      await ask(worker, `/pull/${more.id}?${part}`),
      /4,194,305 bytes.*may process at most 4,194,304 bytes/,
    );
  }
});

test('the largest payload can be searched and read by lines', async () => {
  const { id } = await pushed(worker, `${textOf(25 * MiB - 7)}\nwhales`);
  assert.match((await ask(worker, `/pull/${id}?grep=whales`)).text, /:whales$/);
  assert.equal((await ask(worker, `/pull/${id}?lines=-1`)).text, 'whales');
});

test('the tokens of a long text are estimated from its start', async () => {
  const part = await pushed(worker, textOf(MiB), '?count=1');
  const exact = JSON.parse((await ask(worker, `/pull/${part.id}?cost=1`)).text);
  assert.equal(exact.estimated, false);
  for (const query of ['', '?count=1']) {
    // The second half is spaces, which are few tokens. The estimate reads only the start, so it counts them like
    // ordinary text.
    const { id } = await pushed(worker, textOf(4 * MiB).padEnd(8 * MiB), query);
    const cost = JSON.parse((await ask(worker, `/pull/${id}?cost=1`)).text);
    assert.deepEqual([cost.estimated, cost.bytes], [true, 8 * MiB]);
    assert.ok(Math.abs(cost.tokens / (8 * exact.tokens) - 1) < 0.01, `${cost.tokens} of ${8 * exact.tokens}`);
  }
});

test('a Worker with a low text limit rejects larger texts, wherever they are stored', async () => {
  const relay = new ContextRelay({ baseUrl: small.url });
  const thread = await relay.threads.create({ name: 't' });
  const space = relay.files.space('s');
  // Test a text that is stored in a row, and one in the bucket.
  for (const size of [FREE_PLAN + 1, MiB]) {
    const text = textOf(size);
    const { id } = await pushed(small, text);
    const { ref } = await thread.artifacts.put(text, { name: 'a.txt' });
    await space.put(`${size}`, text);
    const places = [`/pull/${id}?`, `/threads/${thread.id}/artifacts/${ref}/part?`, `/files/s/${size}?`];
    for (const place of places) {
      for (const part of ['grep=whale', 'outline=1', 'json=/0', 'lines=-1', 'lines=300-'])
        assertTooCostly(await ask(small, place + part), /may process at most 16,384 bytes \(16 KiB\)/);
      const lines = await ask(small, `${place}lines=2-3`);
      assert.equal(lines.status, 200, lines.text);
      assert.ok(lines.text.includes(LINE.trim()));
    }
    const cost = JSON.parse((await ask(small, `/pull/${id}?cost=1`)).text);
    assert.deepEqual([cost.estimated, cost.bytes], [true, size]);
  }
  const { id } = await pushed(small, textOf(FREE_PLAN));
  for (const part of ['grep=dogs', 'outline=1', 'lines=-1'])
    assert.equal((await ask(small, `/pull/${id}?${part}`)).status, 200, part);
});

test('a rejected part does not count as a pull', async () => {
  const { id } = await pushed(small, textOf(FREE_PLAN + 1), '?max_pulls=1');
  assertTooCostly(await ask(small, `/pull/${id}?outline=1`), /16 KiB/);
  assert.equal((await ask(small, `/pull/${id}?raw=1`)).text, textOf(FREE_PLAN + 1));
});

test('an MCP or A2A message may have 8 MiB, and a larger one is rejected with a hint to send a pointer', async () => {
  const mcp = (data: string) =>
    JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'push_context', arguments: { data } },
    });
  const a2a = (text: string) =>
    JSON.stringify({ message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text }] } });
  const post = async (path: string, body: string) => {
    const accepted = 'application/json, text/event-stream';
    const headers = { 'Content-Type': 'application/json', Accept: accepted, 'A2A-Version': '1.0' };
    const answer = await fetch(worker.url + path, { method: 'POST', headers, body });
    return { status: answer.status, body: await answer.text() };
  };
  assert.match((await post('/mcp', mcp('x'.repeat(7 * MiB)))).body, /\/pull\//);
  const tooMuch = 'x'.repeat(8 * MiB);
  for (const [path, body] of [
    ['/mcp', mcp(tooMuch)],
    ['/a2a', a2a(tooMuch)],
  ] as const) {
    const refused = await post(path, body);
    assert.equal(refused.status, 413, refused.body);
    const { code, error, hint } = JSON.parse(refused.body);
    assert.equal(code, 'too_large');
    assert.match(error, /8,388,608 bytes/);
    assert.match(hint, /POST \/push.*pointer/);
  }
  assert.equal((await post('/a2a/relay/message:send', a2a(tooMuch))).status, 413);
});

test('an artifact in JSON may have 8 MiB, and a larger one must be sent as a form or as raw bytes', async () => {
  const { thread_id } = JSON.parse((await send(`${worker.url}/threads`, '{}', 'application/json')).body);
  const url = `${worker.url}/threads/${thread_id}/artifacts`;
  const inJson = (content: string) =>
    send(url, JSON.stringify({ content, name: 'a.md' }), 'application/json');
  assert.equal((await inJson(textOf(8 * MiB))).status, 201);
  const refused = await inJson(textOf(8 * MiB + 1));
  assert.equal(refused.status, 413, refused.body);
  const { code, error, hint } = JSON.parse(refused.body);
  assert.equal(code, 'too_large');
  assert.match(error, /in JSON.*8,388,608 bytes/);
  assert.match(hint, /\?name=.*form/);
  const content = textOf(20 * MiB);
  const part = (head: string, body: string) =>
    `--b\r\nContent-Disposition: form-data; ${head}\r\n\r\n${body}\r\n`;
  const file = part('name="file"; filename="a.txt"', content);
  const form = 'multipart/form-data; boundary=b';
  const made = await Promise.all([
    send(`${url}?name=a.txt`, content, 'text/plain'),
    send(url, `${file}--b--\r\n`, form),
    // Here a form field after the file gives another name, which wins.
    send(url, `${file}${part('name="name"', 'a.md')}--b--\r\n`, form),
  ]);
  for (const [i, { status, body }] of made.entries()) {
    assert.equal(status, 201, body);
    const { ref, name, path } = JSON.parse(body);
    assert.match(path, i === 2 ? /\.md$/ : /\.txt$/, name);
    const { text } = await ask(worker, `/threads/${thread_id}/artifacts/${ref}?raw=1`);
    assert.ok(text === content, `${i} came back otherwise`);
  }
});

test('a log that is too expensive to fold is rejected, but the state of the thread is not', async () => {
  const json = async (path: string, body: unknown) => {
    const { status, body: answer } = await send(worker.url + path, JSON.stringify(body), 'application/json');
    assert.ok(status < 300, answer);
    return JSON.parse(answer);
  };
  const { thread_id } = await json('/threads', {});
  const value = Array.from({ length: 4900 }, (_, i) => ({ id: `f${i}`, key: 'k', value: i }));
  await json(`/threads/${thread_id}/state/patch`, [{ op: 'replace', path: '/facts', value }]);
  const moves = Array.from({ length: 5000 }, (_, i) => ({
    op: 'move',
    from: `/facts/${(i * 7) % 4900}`,
    path: `/facts/${(i * 13) % 4900}`,
  }));
  for (let i = 0; i < 60; i++) await json(`/threads/${thread_id}/state/patch`, moves);
  for (const what of ['state/blame', 'state/diff?from=1']) {
    const { status, text } = await ask(worker, `/threads/${thread_id}/${what}`);
    assert.deepEqual([status, JSON.parse(text).code], [422, 'too_costly'], what);
  }
  assert.equal((await ask(worker, `/threads/${thread_id}/state`)).status, 200);
  assert.equal((await ask(worker, `/threads/${thread_id}/state/blame?at=5`)).status, 200);
});
