import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { LOCAL_CALLER } from '../../src/contract/caller.ts';
import { channelStream } from '../../src/domain/names.ts';
import { pushJson, pushRaw, type RelayUnderTest, startRelay } from './relay-under-test.ts';

let relay: RelayUnderTest;
before(async () => {
  relay = await startRelay();
});
after(() => relay[Symbol.asyncDispose]());

const key = (name: string) => ({ 'Idempotency-Key': name });

test('a push repeated with its key gives the same pointer and stores one body', async () => {
  const before = (await relay.engine.usage()).blobs.count;
  const first = await pushJson(relay, { data: 'same' }, key('a'));
  const second = await pushJson(relay, { data: 'same' }, key('a'));
  assert.deepEqual(second.answer, first.answer);
  assert.equal((await relay.engine.usage()).blobs.count, before + 1);
});

test('the same key with another body or other options is 409', async () => {
  await pushJson(relay, { data: 'one' }, key('b'));
  const others = [
    await pushJson(relay, { data: 'two' }, key('b')),
    await pushJson(relay, { data: 'one', metadata: { x: 1 } }, key('b')),
    await pushJson(relay, { data: 'one', ttl: 60 }, key('b')),
  ];
  for (const { response, answer } of others) {
    assert.equal(response.status, 409);
    assert.equal((answer as unknown as { code: string }).code, 'idempotency_conflict');
  }
});

test('twenty racing pushes with one key create one pointer and one message', async () => {
  const body = { data: 'race', channel: 'raced' };
  const answers = await Promise.all(Array.from({ length: 20 }, () => pushJson(relay, body, key('c'))));
  assert.deepEqual(new Set(answers.map(({ response }) => response.status)), new Set([200]));
  assert.equal(new Set(answers.map(({ answer }) => answer.id)).size, 1);
  const { entries } = await relay.engine.logs.read(channelStream(LOCAL_CALLER.tenant, 'raced'));
  assert.equal(entries.length, 1);
});

test('a retry announces a pointer that a crash left unannounced', async () => {
  const { records } = relay.engine;
  const { put } = records;
  // Simulate a crash on an engine without transactions: the record is written, its log entry is not.
  records.put = async (name, value, { append, ...o } = {}) => {
    const revision = await put.call(records, name, value, o);
    if (append) throw new Error('the power went');
    return revision;
  };
  const failed = await pushJson(relay, { data: 'x', channel: 'mended' }, key('d'));
  records.put = put;
  assert.equal(failed.response.status, 500);
  const { answer } = await pushJson(relay, { data: 'x', channel: 'mended' }, key('d'));
  assert.equal((await fetch(answer.url)).status, 200);
  const { entries } = await relay.engine.logs.read(channelStream(LOCAL_CALLER.tenant, 'mended'));
  assert.deepEqual(
    entries.map((entry) => (entry.data as { pointer: string }).pointer),
    [answer.id],
  );
});

test('a key is free again once its pointer has expired', async () => {
  const first = await pushRaw(relay, 'x', '?ttl=1', key('e'));
  relay.advance(1_001);
  const second = await pushRaw(relay, 'y', '?ttl=1', key('e'));
  assert.equal(second.response.status, 200);
  assert.equal(second.answer.id, first.answer.id);
  assert.equal(await (await fetch(`${second.answer.url}?raw=1`)).text(), 'y');
});

test("ids derived from idempotency keys cannot be guessed without the store's secret", async () => {
  await using other = await startRelay();
  const here = await pushJson(relay, { data: 'x' }, key('f'));
  const there = await pushJson(other, { data: 'x' }, key('f'));
  assert.notEqual(here.answer.id, there.answer.id);
});
