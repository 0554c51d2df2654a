import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRelayError } from '../base/errors.ts';
import { openMemory } from '../engines/memory/engine.ts';
import { compareAndSet } from './records.ts';

const atOnce = () => 0;

test('compareAndSet returns the first result that is not null, even false, 0 or undefined', async () => {
  for (const result of ['x', 0, false, '', undefined]) {
    let attempts = 0;
    const answer = await compareAndSet('x', async () => {
      attempts++;
      return result as string | null;
    });
    assert.equal(answer, result);
    assert.equal(attempts, 1);
  }
});

test('null starts another round, and attempt receives the number of the round', async () => {
  const rounds: number[] = [];
  const answer = await compareAndSet(
    'x',
    async (round) => {
      rounds.push(round);
      return round === 5 ? 'won' : null;
    },
    atOnce,
  );
  assert.equal(answer, 'won');
  assert.deepEqual(rounds, [0, 1, 2, 3, 4, 5]);
});

test('after 512 rounds compareAndSet throws busy and names what could not be changed', async () => {
  let attempts = 0;
  await assert.rejects(
    compareAndSet(
      'the state of a thread',
      async () => {
        attempts++;
        return null;
      },
      atOnce,
    ),
    (error) => isRelayError(error, 'busy') && error.message.includes('the state of a thread'),
  );
  assert.equal(attempts, 512);
});

test('an error of an attempt ends compareAndSet at once', async () => {
  let attempts = 0;
  const broken = compareAndSet('x', async () => {
    attempts++;
    throw new Error('broken');
  });
  await assert.rejects(broken, /broken/);
  assert.equal(attempts, 1);
});

test('fifty concurrent writers of one record all succeed', async () => {
  await using engine = openMemory();
  const { records } = engine;
  await Promise.all(
    Array.from({ length: 50 }, (_, writer) =>
      compareAndSet('the list', async () => {
        const current = await records.get('cas/list');
        const list = (current?.value as number[] | undefined) ?? [];
        return records.put('cas/list', [...list, writer], { expect: current?.revision ?? 'absent' });
      }),
    ),
  );
  const list = (await records.get('cas/list'))?.value as number[];
  assert.deepEqual(
    list.toSorted((a, b) => a - b),
    Array.from({ length: 50 }, (_, i) => i),
  );
});
