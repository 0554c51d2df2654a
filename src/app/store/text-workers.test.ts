import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../../test/until.ts';
import { streamFrom } from '../../base/byte-streams.ts';
import { isRelayError } from '../../base/errors.ts';
import type { StoredEvent } from '../../domain/threads/event.ts';
import { emptyHead } from '../../domain/threads/fold.ts';
import { bareRoot } from '../../domain/threads/keys.ts';
import { ownTextWork } from './own-text-work.ts';
import { TextWorkers } from './text-workers.ts';

const bytes = (text: string) => new TextEncoder().encode(text);

/** Returns a body that never ends and records whether it was cancelled. */
function endless() {
  const seen = { letGo: false };
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(bytes('a line\n'.repeat(1000))),
    cancel: () => {
      seen.letGo = true;
    },
  });
  return { body, seen };
}

test('worker threads count tokens and read parts like the main thread', async () => {
  await using workers = new TextWorkers();
  const texts = ['hello, agent', 'naïve café ☕', 'a'.repeat(5000), ''];
  assert.deepEqual(
    await Promise.all(texts.map((text) => workers.count(text))),
    await Promise.all(texts.map((text) => ownTextWork.count(text))),
  );
  const whole = bytes('{"a": [1, 2]}\n');
  const streamed = () =>
    streamFrom(
      (async function* () {
        yield whole.subarray(0, 5);
        yield whole.subarray(5);
      })(),
    );
  for (const request of [{ lines: '-1' }, { grep: 'a' }, { json: '/a' }, { outline: true }] as const) {
    const expected = await ownTextWork.part(whole, request);
    assert.deepEqual(await workers.part(whole, request), expected);
    assert.deepEqual(await workers.part(streamed(), request), expected);
  }
  const page = bytes('<p>shown</p><script>hidden</script>'.repeat(1000));
  const content = { start: page, size: page.length, lineCount: 1, isText: true };
  assert.deepEqual(await workers.preview('html', content), await ownTextWork.preview('html', content));
  assert.deepEqual(await workers.count(streamed()), await workers.count('{"a": [1, 2]}\n'));
  await assert.rejects(workers.part(whole, { json: '/b' }), (error) => isRelayError(error, 'bad_part'));
});

test('folds that start together load their snapshots and events one after the other', async () => {
  await using workers = new TextWorkers();
  const read: string[] = [];
  const events = async function* (name: string): AsyncGenerator<StoredEvent> {
    for (const at of [1, 2]) {
      read.push(`${name}${at}`);
      yield { type: 'message.received', at, payload: {} };
    }
  };
  const start = emptyHead(bareRoot('550e8400-e29b-41d4-a716-446655440000'));
  const load = (name: string) => async () => {
    read.push(`${name}0`);
    return { job: { kind: 'states', start, versions: [] } as const, events: events(name) };
  };
  await Promise.all(['a', 'b', 'c'].map((name) => workers.fold(load(name))));
  assert.deepEqual(read, ['a0', 'a1', 'a2', 'b0', 'b1', 'b2', 'c0', 'c1', 'c2']);
});

test('the pool can be closed at any time, and restarts on the next call', async () => {
  const workers = new TextWorkers();
  await workers[Symbol.asyncDispose]();
  assert.equal((await workers.count('hello')).tokens, 1);
  await workers[Symbol.asyncDispose]();
  await workers[Symbol.asyncDispose]();
});

test('a job whose caller has aborted is ended, waiting or running', async () => {
  await using workers = new TextWorkers();
  const left = new AbortController();
  const [running, waiting] = [endless(), endless()];
  const both = [running, waiting].map(({ body }) => workers.part(body, { lines: '-1' }, left));
  const refusals = both.map((work) => assert.rejects(work, (error) => isRelayError(error, 'aborted')));
  assert.deepEqual(workers.jobs, { running: 1, waiting: 1 });
  assert.equal((await workers.count('a short text meanwhile')).tokens, 4);
  left.abort();
  await Promise.all(refusals);
  await until(() => running.seen.letGo && waiting.seen.letGo);
  assert.deepEqual(workers.jobs, { running: 0, waiting: 0 });
  assert.equal((await workers.part(bytes('x\n'.repeat(100_000)), { lines: '1' })).text, 'x');
});

test('a job that takes too long is ended, and the next job runs', async () => {
  await using workers = new TextWorkers({ timeMs: 3_000 });
  const slow = endless();
  const rejection = assert.rejects(
    workers.part(slow.body, { lines: '-1' }),
    (error) => isRelayError(error, 'too_costly') && /time/.test(error.message),
  );
  const next = workers.part(bytes('x\n'.repeat(100_000)), { lines: '1' });
  await rejection;
  await until(() => slow.seen.letGo);
  assert.equal((await next).text, 'x');
});

test('a job that uses too much memory is ended, and the process continues', async () => {
  await using workers = new TextWorkers({ memoryMb: 16 });
  const large = bytes('[0]'.padEnd(24 * 1024 * 1024, ' ☃'));
  await assert.rejects(
    workers.part(large, { json: '/0' }),
    (error) => isRelayError(error, 'too_costly') && /memory/.test(error.message),
  );
  assert.equal((await workers.part(bytes('[7]'), { json: '/0' })).text, '7');
});

test('a job beyond the queue limit is rejected, and its stream is cancelled', async () => {
  await using workers = new TextWorkers({ waiting: 2 });
  const left = new AbortController();
  const held = [1, 2, 3].map(() => workers.part(endless().body, { lines: '-1' }, left).catch(() => {}));
  const refused = endless();
  await assert.rejects(workers.part(refused.body, { lines: '1' }), (error) =>
    isRelayError(error, 'overloaded'),
  );
  assert.equal(refused.seen.letGo, true);
  left.abort();
  await Promise.all(held);
});

test('a job that waits too long is rejected, and its stream is cancelled', async () => {
  await using workers = new TextWorkers({ waitMs: 50 });
  const left = new AbortController();
  const held = workers.part(endless().body, { lines: '-1' }, left).catch(() => {});
  const late = endless();
  await assert.rejects(workers.part(late.body, { lines: '-1' }), (error) =>
    isRelayError(error, 'overloaded'),
  );
  assert.equal(late.seen.letGo, true);
  assert.deepEqual(workers.jobs, { running: 1, waiting: 0 });
  left.abort();
  await held;
});

/**
 * Returns a body that records in `begun` when its job begins to read it. The test decides when the body ends.
 */
function gated(begun: string[], name: string) {
  const gate = Promise.withResolvers<void>();
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        begun.push(name);
        await gate.promise;
        controller.enqueue(bytes('a line\n'));
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  return { body, open: gate.resolve };
}

test('tenants take turns, however many jobs one of them has waiting', async () => {
  await using workers = new TextWorkers();
  const begun: string[] = [];
  const ask = (name: string, tenant: string) => {
    const { body, open } = gated(begun, name);
    return { open, done: workers.part(body, { lines: '1' }, { tenant }) };
  };
  const many = Array.from({ length: 40 }, (_, i) => ask(`many ${i}`, 'many'));
  const few = [ask('few 0', 'few'), ask('few 1', 'few')];
  const other = ask('other 0', 'other');
  for (const { open } of [...many, ...few, other]) open();
  await Promise.all([...many, ...few, other].map(({ done }) => done));
  assert.deepEqual(begun.slice(0, 6), ['many 0', 'many 1', 'few 0', 'other 0', 'many 2', 'few 1']);
});

test('a tenant with a full queue is rejected, and other tenants are not', async () => {
  await using workers = new TextWorkers({ waiting: 2 });
  const left = new AbortController();
  const ask = (tenant: string) =>
    workers.part(endless().body, { lines: '-1' }, { tenant, signal: left.signal });
  const held = [1, 2, 3].map(() => ask('many').catch(() => {}));
  await assert.rejects(ask('many'), (error) => isRelayError(error, 'overloaded'));
  held.push(ask('few').catch(() => {}));
  assert.deepEqual(workers.jobs, { running: 1, waiting: 3 });
  left.abort();
  await Promise.all(held);
  assert.deepEqual(workers.jobs, { running: 0, waiting: 0 });
});
