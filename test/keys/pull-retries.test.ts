import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGuarded } from './guarded-relay.ts';

async function start(max_pulls: number) {
  const relay = await startGuarded({ core: { defaultPlan: 'team' } });
  const [owner, reader] = [await relay.key({ name: 'owner' }), await relay.key({ name: 'reader' })];
  const { json } = await relay.ask('POST', '/push', { key: owner, body: { data: 'secret', max_pulls } });
  const pull = async (key: typeof owner, repeat?: string) => {
    const headers = repeat === undefined ? undefined : { 'Idempotency-Key': repeat };
    return (await relay.ask('GET', `/pull/${json.id}`, { key, headers })).status;
  };
  const receipts = async () => {
    const ladder = await relay.ask('GET', `/pull/${json.id}/receipts`, { key: owner });
    return (ladder.json.receipts as { rung: string; by: string; count?: number; retries?: number }[])
      .filter(({ rung }) => rung === 'pulled')
      .map(({ by, count, retries }) => ({ by, count, retries }));
  };
  return { relay, owner, reader, pull, receipts, [Symbol.asyncDispose]: () => relay[Symbol.asyncDispose]() };
}

test('a pull with max_pulls may be repeated twice within five minutes, and no more', async () => {
  await using once = await start(1);
  const { reader, pull } = once;
  const repeated = [];
  for (let i = 0; i < 5; i++) repeated.push(await pull(reader, 'k'));
  assert.deepEqual(repeated, [200, 200, 200, 404, 404]);
  assert.deepEqual(await once.receipts(), [{ by: 'reader', count: 3, retries: 2 }]);
});

test('after five minutes a repeated pull counts again', async () => {
  await using once = await start(1);
  const { relay, reader, pull } = once;
  assert.equal(await pull(reader, 'k'), 200);
  relay.advance(5 * 60_000 + 1);
  assert.equal(await pull(reader, 'k'), 404);
});

test('the Idempotency-Key of one caller does not work for another', async () => {
  await using once = await start(1);
  assert.equal(await once.pull(once.reader, 'k'), 200);
  assert.equal(await once.pull(once.owner, 'k'), 404);
});

test('a pull that was refused is refused again when it is repeated', async () => {
  await using once = await start(1);
  assert.equal(await once.pull(once.reader), 200);
  assert.equal(await once.pull(once.reader, 'late'), 404);
  assert.equal(await once.pull(once.reader, 'late'), 404);
  assert.deepEqual(await once.receipts(), [{ by: 'reader', count: 1, retries: undefined }]);
});

test('of many concurrent repetitions of one pull, at most three succeed', async () => {
  await using once = await start(1);
  const statuses = await Promise.all(Array.from({ length: 12 }, () => once.pull(once.reader, 'k')));
  const through = statuses.filter((status) => status === 200).length;
  assert.ok(through >= 1 && through <= 3, `${through} got through`);
});
