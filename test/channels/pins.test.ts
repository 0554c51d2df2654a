import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commandTree } from '../../src/interfaces/cli/commands/completion.ts';
import { ROOT } from '../../src/interfaces/cli/commands.ts';
import { OPERATIONS } from '../../src/interfaces/http/operations.ts';
import { connect, startTestServer } from './server.ts';

/** Clients in any language depend on these routes. They are literals, because a change here is a change for users. */

const ROUTES = [
  'GET /channels',
  'GET /channels/:name',
  'GET /channels/:name/position',
  'POST /channels/:name',
  'GET /channels/:name/events',
  'GET /ws/:name',
  'POST /ws-ticket',
  'POST /channels/:name/groups/:group/ack',
  'POST /channels/:name/groups/:group/nack',
  'POST /channels/:name/groups/:group/extend',
  'POST /channels/:name/groups/:group',
  'DELETE /channels/:name/groups/:group',
  'GET /channels/:name/dead',
  'POST /channels/:name/dead/:seq/retry',
  'DELETE /channels/:name/dead/:seq',
  'GET /inbox/:agent',
  'POST /inbox/:agent/read',
  'POST /inbox/:agent/channels',
  'DELETE /inbox/:agent/channels/:channel',
  'GET /pull/:id/receipts',
];

test('the routes of channels, inboxes and receipts have not changed', () => {
  const verbRoutes = new Set<string | undefined>(OPERATIONS.map(({ verb }) => verb.route));
  for (const route of ROUTES) assert.ok(verbRoutes.has(route), route);
});

test('frames have the same fields in the same order as before', async () => {
  await using server = await startTestServer({ channels: { messages: 16, attempts: 1 } });
  const keys = (frame: object) => Object.keys(frame).join(' ');
  await using plain = await connect(`${server.ws}/ws/c`);
  await server.post('/push', { data: 'x', channel: 'c' });
  await server.post('/push', { data: 'x', channel: 'c', metadata: { a: 1 }, sealed_key: 'sealed' });
  await server.post('/channels/c', { msg: 1 });
  assert.deepEqual((await plain.take(3)).map(keys), [
    'url ts seq from',
    'url ts seq from metadata sealed_key',
    'msg ts seq from',
  ]);
  await using member = await connect(`${server.ws}/ws/c?group=g&prefetch=3`);
  const [first, , third] = await member.take(3);
  assert.deepEqual(
    [keys(first), keys(third)],
    ['url ts seq from token attempt lease_until', 'msg ts seq from token attempt lease_until'],
  );
  member.send({ nack: third.seq, token: third.token });
  assert.equal(keys((await member.take(1))[0]), 'nacked token dead');
  member.send({ extend: first.seq, token: first.token });
  assert.equal(keys((await member.take(1))[0]), 'extended token lease_until');
  member.send({ ack: first.seq, token: first.token });
  assert.equal(keys((await member.take(1))[0]), 'acked token');
  member.send({ ack: first.seq, token: 0 });
  assert.equal(keys((await member.take(1))[0]), 'error code hint seq token');
  await using dead = await connect(`${server.ws}/ws/c.dead?since=all`);
  const [letter] = await dead.take(1);
  assert.equal(keys(letter), 'msg ts seq from dead');
  assert.equal(keys(letter.dead), 'channel group seq ts attempts reason');
});

test('HTTP responses have the same fields as before', async () => {
  await using server = await startTestServer();
  const keys = (value: object) => Object.keys(value).join(' ');
  const published = await server.post('/channels/c', { msg: 1 });
  assert.equal(keys(published.json), 'channel seq ts');
  assert.equal(keys((await server.post('/ws-ticket', {})).json), 'ticket expires_at');
  await using member = await connect(`${server.ws}/ws/c?group=g`);
  await member.take(1);
  const { json: list } = await server.get('/channels');
  assert.equal(keys(list), 'channels');
  assert.equal(keys(list.channels[0]), 'name messages last_seq last_at groups');
  const { json: detail } = await server.get('/channels/c');
  assert.equal(keys(detail), 'name messages last_seq last_at first_seq dead groups');
  assert.equal(keys(detail.groups[0]), 'name backlog waiting members leases');
  assert.equal(keys(detail.groups[0].leases[0]), 'seq token attempt member lease_until');
  const { json: pushed } = await server.post('/push', { data: 'x' });
  const { json: ladder } = await server.get(`/pull/${pushed.id}/receipts`);
  assert.equal(keys(ladder), 'id handle reached receipts');
  assert.equal(keys(ladder.receipts[0]), 'rung by at bytes');
});

const COMMANDS: { [path: string]: string[] } = {
  watch: ['since', 'group', 'as', 'exec', 'count', 'prefetch'],
  publish: ['parse', 'reply-to', 'idempotency-key'],
  channels: [],
  'channel inspect': [],
  'channel rm': ['force'],
  'channel forget-group': [],
  'channel key new': ['force'],
  'channel key add': ['force'],
  'channel key show': [],
  'channel key list': [],
  'channel key rm': [],
  follow: ['as', 'since'],
  unfollow: ['as'],
  inbox: ['as', 'mark-read', 'limit'],
  receipts: ['watch'],
};

test('the channel commands keep their names and flags', async () => {
  const tree = new Map((await commandTree(ROOT)).map((node) => [node.path, Object.keys(node.flags)]));
  for (const [path, flags] of Object.entries(COMMANDS)) {
    assert.ok(tree.has(path), `relay ${path}`);
    for (const flag of flags) assert.ok(tree.get(path)!.includes(flag), `relay ${path} --${flag}`);
  }
});
