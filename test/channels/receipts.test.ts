import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRelayError } from '../../src/base/errors.ts';
import { until } from '../until.ts';
import { pull } from './bodies.ts';
import { claimOf, encode, openTestCore, readFrom } from './core.ts';
import { connect, startTestServer } from './server.ts';

const HOUR = 3_600_000;

test('an untouched pointer has only the receipt that it was stored', async () => {
  await using t = openTestCore();
  const pushed = await t.relay.pointers.push({ body: encode('abc'), channel: 'c' });
  const peeked = await t.relay.pointers.peek(pushed.id);
  assert.deepEqual(await t.relay.receipts.get(pushed.id), {
    id: pushed.id,
    handle: pushed.handle,
    reached: 'stored',
    receipts: [{ rung: 'stored', by: 'local', at: peeked.created_at, bytes: 3 }],
  });
});

test('receipts show who pulled, how often and how many bytes; peeks and cost estimates do not count', async () => {
  await using t = openTestCore();
  const { id } = await t.relay.pointers.push({ body: encode('line one\nline two\n') });
  await t.relay.pointers.peek(id);
  await t.relay.pointers.cost(id);
  assert.equal((await t.relay.receipts.get(id)).reached, 'stored');
  await pull(t.as('ann'), id);
  await pull(t.as('ann'), id);
  await t.as('bob').pointers.part(id, { lines: '2' });
  const { reached, receipts } = await t.relay.receipts.get(id);
  assert.equal(reached, 'pulled');
  assert.deepEqual(
    receipts.slice(1).map(({ rung, by, count, bytes }) => ({ rung, by, count, bytes })),
    [
      { rung: 'pulled', by: 'ann', count: 2, bytes: 36 },
      { rung: 'pulled', by: 'bob', count: 1, bytes: 8 },
    ],
  );
});

test('the receipt of a large payload counts all bytes that were read', async () => {
  await using t = openTestCore();
  const { id } = await t.relay.pointers.push({ body: new Uint8Array(3_000_000).fill(97) });
  await pull(t.as('ann'), id);
  const { receipts } = await t.relay.receipts.get(id);
  assert.deepEqual(
    receipts.map(({ rung, by, bytes }) => [rung, by, bytes]),
    [
      ['stored', 'local', 3_000_000],
      ['pulled', 'ann', 3_000_000],
    ],
  );
});

test('receipts are written behind, visible to other processes, and survive the process', async () => {
  await using t = openTestCore();
  const { id } = await t.relay.pointers.push({ body: encode('x') });
  await pull(t.as('ann'), id);
  await t.core.close();
  const elsewhere = t
    .another()
    .relay({ tenant: 'local', keyId: 'k', name: 'eve', scopes: ['pull'] }, 'http://x');
  assert.equal((await elsewhere.receipts.get(id)).reached, 'pulled');
});

test('only the owner sees receipts, and a foreign pointer looks like a missing one', async () => {
  await using t = openTestCore();
  const { id } = await t.relay.pointers.push({ body: encode('x') });
  for (const [relay, which] of [
    [t.as('eve', 'other'), id],
    [t.relay, '00000000-0000-4000-8000-000000000000'],
    [t.relay, 'nonsense'],
  ] as const) {
    await assert.rejects(relay.receipts.get(which), (e) => isRelayError(e, 'not_found'));
  }
});

test('acknowledgement and result are stages of a receipt, each with its author and details', async () => {
  await using t = openTestCore();
  const task = await t.relay.pointers.push({ body: encode('job'), channel: 'tasks' });
  await using worker = readFrom(t.as('worker'), 'tasks', { group: 'g' });
  const [message] = await worker.take(1);
  await t.as('worker').channels.ack('tasks', 'g', claimOf(message!));
  await t.core.background.settle();
  assert.equal((await t.relay.receipts.get(task.id)).reached, 'acked');
  const metadata = { task_id: task.id, status: 'done', summary: 'all good' };
  const result = await t.as('worker').pointers.push({ body: encode('result'), channel: 'done', metadata });
  const { reached, receipts } = await t.relay.receipts.get(task.id);
  assert.equal(reached, 'result');
  const { at: _, ...last } = receipts.at(-1)!;
  assert.deepEqual(last, {
    rung: 'result',
    by: 'worker',
    url: result.url,
    status: 'done',
    summary: 'all good',
  });
});

test('another tenant cannot add a result to a pointer', async () => {
  await using t = openTestCore();
  const task = await t.relay.pointers.push({ body: encode('job') });
  await t.as('eve', 'other').pointers.push({ body: encode('x'), metadata: { task_id: task.id } });
  assert.equal((await t.relay.receipts.get(task.id)).reached, 'stored');
});

test('marking a message as read records that the agent was notified', async () => {
  await using t = openTestCore();
  await t.relay.inbox.follow('ann', 'c');
  const { id } = await t.relay.pointers.push({ body: encode('x'), channel: 'c' });
  const { cursors } = await t.relay.inbox.read('ann');
  assert.equal((await t.relay.receipts.get(id)).reached, 'stored', 'a look is none');
  await t.relay.inbox.markRead('ann', cursors);
  await t.core.background.settle();
  const { receipts } = await t.relay.receipts.get(id);
  assert.deepEqual(
    receipts.slice(1).map(({ rung, by }) => [rung, by]),
    [['notified', 'ann']],
  );
});

test('a socket that answers the ping after a message was notified; a socket that does not read was not', async () => {
  await using server = await startTestServer();
  const path = (id: string) => `/pull/${id}/receipts`;
  await using deaf = await connect(`${server.ws}/ws/deaf`);
  deaf.socket.pause();
  await using listener = await connect(`${server.ws}/ws/heard`);
  const unheard = await server.post('/push', { data: 'x', channel: 'deaf' });
  const pushed = await server.post('/push', { data: 'x', channel: 'heard' });
  await listener.take(1);
  const receipts = async () => (await server.get(path(pushed.json.id))).json;
  await until(async () => (await receipts()).reached !== 'stored');
  const [, notified] = (await receipts()).receipts;
  assert.deepEqual(notified, { rung: 'notified', by: 'local', at: notified.at, count: 1 });
  assert.equal((await server.get(path(unheard.json.id))).json.reached, 'stored');
});

test('an unsolicited pong is no evidence', async () => {
  await using server = await startTestServer();
  await using socket = await connect(`${server.ws}/ws/c`);
  // This client ignores pings, but keeps sending pongs that nobody asked for.
  socket.socket.removeAllListeners('ping');
  Object.assign(socket.socket, { _autoPong: false });
  const { json } = await server.post('/push', { data: 'x', channel: 'c' });
  await socket.take(1);
  for (let i = 0; i < 40; i++) {
    socket.socket.pong('made up');
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
  assert.equal((await server.get(`/pull/${json.id}/receipts`)).json.reached, 'stored');
});

test('a group member that answers the ping is notified before it acknowledges', async () => {
  await using server = await startTestServer();
  const { json } = await server.post('/push', { data: 'x', channel: 'c' });
  await using socket = await connect(`${server.ws}/ws/c?group=g`);
  const [{ seq, token }] = await socket.take(1);
  const rungs = async () =>
    (await server.get(`/pull/${json.id}/receipts`)).json.receipts.map((each: { rung: string }) => each.rung);
  await until(async () => (await rungs()).length >= 2);
  socket.send({ ack: seq, token });
  await socket.take(1);
  await until(async () => (await rungs()).length >= 3);
  assert.deepEqual(await rungs(), ['stored', 'notified', 'acked']);
});

test('receipts are deleted with their pointer, and kept if the pointer is renewed', async () => {
  await using t = openTestCore();
  const short = await t.relay.pointers.push({ body: encode('x'), ttl: 60 });
  const long = await t.relay.pointers.push({ body: encode('y'), ttl: 60 });
  await pull(t.relay, short.id);
  await pull(t.relay, long.id);
  await t.core.receipts.flush();
  const hasReceipts = async (id: string) => (await t.engine.records.get(`ptr.${id}/receipts`)) !== null;
  assert.deepEqual([await hasReceipts(short.id), await hasReceipts(long.id)], [true, true]);
  await t.relay.pointers.renew([long.id], { ttl: 3600 });
  t.advance(120_000);
  assert.deepEqual([await hasReceipts(short.id), await hasReceipts(long.id)], [false, true]);
  assert.equal((await t.relay.receipts.get(long.id)).reached, 'pulled');
  await t.relay.pointers.delete(long.id);
  assert.equal(await hasReceipts(long.id), false);
});

test('receipts in the logs of an earlier version are shown, and move to records that expire', async () => {
  await using t = openTestCore();
  const { id } = await t.relay.pointers.push({ body: encode('x'), ttl: 5 * 3600 });
  const at = t.engine.now();
  const pulled = (by: string) => ({ rung: 'pulled', by, first: at, last: at, count: 2, bytes: 2 });
  await t.engine.logs.append(`rcp.${id}`, { notes: [pulled('ann')] });
  await t.engine.logs.append('rcp.gone', { notes: [pulled('ann')] });
  const hour = Math.floor(at / HOUR);
  for (const pointer of [id, 'gone']) await t.engine.logs.append(`rcpdue.${hour + 1}`, pointer);
  await t.engine.records.put('sys/receipts-due', hour - 1);
  await pull(t.as('ann'), id);
  const readReceipts = async () =>
    (await t.relay.receipts.get(id)).receipts.map(({ rung, by, count }) => [rung, by, count]);
  const both = [
    ['stored', 'local', undefined],
    ['pulled', 'ann', 3],
  ];
  assert.deepEqual(await readReceipts(), both);
  t.advance(2 * HOUR);
  for (let left = 10; left > 0 && !(await t.core.receipts.sweep(1)); left--);
  assert.deepEqual(await readReceipts(), both);
  for (const log of [`rcp.${id}`, 'rcp.gone', `rcpdue.${hour + 1}`])
    assert.equal((await t.engine.logs.info(log)).count, 0, log);
});

test('receipt logs that the first versions marked for deletion are deleted', async () => {
  await using t = openTestCore();
  await t.engine.logs.append('rcp.gone', { notes: [] });
  await t.engine.records.put(`sys.rcp/${String(t.engine.now()).padStart(15, '0')}/gone`, 1);
  await t.core.sweepStore();
  assert.equal((await t.engine.records.list('sys.rcp/')).items.length, 0);
  assert.equal((await t.engine.logs.info('rcp.gone')).count, 0);
});
