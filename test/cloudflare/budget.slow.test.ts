import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startWorker } from '../../scripts/cloudflare/local-worker.ts';
import { ContextRelay } from '../../src/sdk/context-relay.ts';

/** What a Worker refuses because its platform would end it for that, which workerd on this machine does not. */

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

/** Lines of ordinary text, to the byte. */
const LINE = 'the quick brown fox jumps over 12345 lazy dogs, again.\n';
const textOf = (bytes: number) => LINE.repeat(Math.ceil(bytes / LINE.length)).slice(0, bytes);
const jsonOf = (bytes: number) => `["${'x'.repeat(bytes - 6)}",1]`.slice(-bytes);

async function send(url: string, body: string, type: string) {
  const answer = await fetch(url, { method: 'POST', headers: { 'Content-Type': type }, body });
  return { status: answer.status, body: await answer.text() };
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

test('an outline and a JSON value are taken of 4 MiB, and of more refused with a hint', async () => {
  const most = await pushed(worker, jsonOf(4 * MiB));
  const more = await pushed(worker, jsonOf(4 * MiB + 1));
  for (const part of ['outline=1', 'json=/1']) {
    const taken = await ask(worker, `/pull/${most.id}?${part}`);
    assert.equal(taken.status, 200, taken.text);
    assertTooCostly(
      await ask(worker, `/pull/${more.id}?${part}`),
      /4,194,305 bytes.*of which 4,194,304 bytes/,
    );
  }
});

test('the largest payload is searched, and lines are taken of it', async () => {
  const { id } = await pushed(worker, `${textOf(25 * MiB - 7)}\nwhales`);
  assert.match((await ask(worker, `/pull/${id}?grep=whales`)).text, /:whales$/);
  assert.equal((await ask(worker, `/pull/${id}?lines=-1`)).text, 'whales');
});

test('tokens of a long text are counted at its beginning, and the figure is an estimate', async () => {
  const part = await pushed(worker, textOf(MiB), '?count=1');
  const exact = JSON.parse((await ask(worker, `/pull/${part.id}?cost=1`)).text);
  assert.equal(exact.estimated, false);
  for (const query of ['', '?count=1']) {
    const { id } = await pushed(worker, textOf(8 * MiB), query);
    const cost = JSON.parse((await ask(worker, `/pull/${id}?cost=1`)).text);
    assert.deepEqual([cost.estimated, cost.bytes], [true, 8 * MiB]);
    assert.ok(Math.abs(cost.tokens / (8 * exact.tokens) - 1) < 0.01, `${cost.tokens} of ${8 * exact.tokens}`);
  }
});

test('a Worker that may use little time refuses what takes more, wherever the text is', async () => {
  const relay = new ContextRelay({ baseUrl: small.url });
  const thread = await relay.threads.create({ name: 't' });
  const space = relay.files.space('s');
  // In a row, and in the bucket.
  for (const size of [FREE_PLAN + 1, MiB]) {
    const text = textOf(size);
    const { id } = await pushed(small, text);
    const { ref } = await thread.artifacts.put(text, { name: 'a.txt' });
    await space.put(`${size}`, text);
    const places = [`/pull/${id}?`, `/threads/${thread.id}/artifacts/${ref}/part?`, `/files/s/${size}?`];
    for (const place of places) {
      for (const part of ['grep=whale', 'outline=1', 'json=/0', 'lines=-1', 'lines=300-'])
        assertTooCostly(await ask(small, place + part), /of which 16,384 bytes \(16 KiB\)/);
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

test('a part that is refused uses up no pull', async () => {
  const { id } = await pushed(small, textOf(FREE_PLAN + 1), '?max_pulls=1');
  assertTooCostly(await ask(small, `/pull/${id}?outline=1`), /16 KiB/);
  assert.equal((await ask(small, `/pull/${id}?raw=1`)).text, textOf(FREE_PLAN + 1));
});
