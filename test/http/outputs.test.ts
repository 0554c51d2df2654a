import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeUtf8 } from '../../src/base/utf8.ts';
import { LOCAL_CALLER } from '../../src/contract/caller.ts';
import { startGuarded } from '../keys/guarded-relay.ts';
import { startRelay } from './relay-under-test.ts';

const LINES = Array.from({ length: 100 }, (_, i) => `line ${100 + i}`).join('\n');
const output = (command: string, shown: number) => ({
  body: encodeUtf8(LINES),
  metadata: { kind: 'output', command, exit: 1, lines: 100, tokens: 300, shown },
});

test('the report subtracts what was printed and what was pulled later, and may be negative', async () => {
  await using server = await startRelay();
  const { pointers } = server.core.relay(LOCAL_CALLER, server.url);
  const { id } = await pointers.push(output('npm test', 120));
  await pointers.push(output('npm test', 80));
  const { id: costly } = await pointers.push(output('make all', 290));
  await pointers.push({ body: encodeUtf8('no output') });
  await new Response((await pointers.pull(costly)).body as BodyInit).text();
  await pointers.part(id, { lines: '1-10' });
  const pulled = Math.round((300 * encodeUtf8('line 100\n'.repeat(10)).length) / encodeUtf8(LINES).length);
  const { commands, total, since, truncated } = await pointers.outputs();
  const [test, make] = commands;
  assert.deepEqual(make, {
    command: 'make all',
    runs: 1,
    tokens: 300,
    shown: 290,
    kept_back: 10,
    pulled: 300,
    net: -290,
  });
  assert.deepEqual(test, { ...test, command: 'npm test', runs: 2, tokens: 600, shown: 200, kept_back: 400 });
  assert.ok(Math.abs(test!.pulled - pulled) <= 1, `${test!.pulled} and ${pulled}`);
  assert.equal(test!.net, 400 - test!.pulled);
  assert.deepEqual([total.runs, total.net, truncated], [3, test!.net + make!.net, false]);
  assert.ok(Date.parse(since!) > 0);
  await pointers.delete(costly);
  assert.equal((await pointers.outputs()).total.runs, 2);
});

test('metadata that is not a number is not counted', async () => {
  await using server = await startRelay();
  const { pointers } = server.core.relay(LOCAL_CALLER, server.url);
  const metadata = { kind: 'output', command: { a: 1 }, tokens: 'many', shown: -5, bytes: null };
  await pointers.push({ body: encodeUtf8('x'), metadata });
  const { net, kept_back, pulled } = (await pointers.outputs()).total;
  assert.deepEqual([net, kept_back, pulled], [0, 0, 0]);
});

test('a key sees only the outputs that it may list', async () => {
  await using relay = await startGuarded();
  const body = { data: 'x', metadata: { kind: 'output', command: 'npm test', tokens: 9, shown: 1 } };
  await relay.ask('POST', '/push', { key: await relay.key(), body });
  const runs = async (key: Awaited<ReturnType<typeof relay.key>>) =>
    (await relay.ask('GET', '/pointers/outputs', { key })).json.total.runs;
  assert.equal(await runs(await relay.key({ channel_prefix: 'mine.' })), 0);
  assert.equal(await runs(await relay.key({ tenant: 'other' })), 0);
});
