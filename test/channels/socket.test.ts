import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../until.ts';
import { connect, refusal, startTestServer } from './server.ts';

test('a socket without a query gets the messages after it was opened, as existing subscribers expect', async () => {
  await using server = await startTestServer();
  await server.post('/push', { data: 'before', channel: 'c' });
  await using socket = await connect(`${server.ws}/ws/c`);
  const pushed = await server.post('/push', { data: 'x', channel: 'c', metadata: { n: 1 } });
  const signal = await server.post('/channels/c', { msg: 'done' });
  const [first, second] = await socket.take(2);
  assert.deepEqual(first, {
    url: pushed.json.url,
    ts: first.ts,
    seq: first.seq,
    from: 'local',
    metadata: { n: 1 },
  });
  assert.deepEqual(second, { msg: 'done', ts: signal.json.ts, seq: signal.json.seq, from: 'local' });
  assert.equal(typeof first.ts, 'number');
  assert.equal(await fetch(`${first.url}?raw=1`).then((r) => r.text()), 'x');
  assert.equal(socket.frames.length, 2, 'and nothing else');
});

test('the rest of the path is the channel name, with any characters, and the same as in JSON', async () => {
  await using server = await startTestServer();
  const names = [
    'a',
    'a/b/c',
    'a%2Fb',
    'x.y',
    'ü/日本',
    '100%',
    'a?b#c',
    ' spaced ',
    'a//b',
    'trail/',
    '😀'.repeat(256),
  ];
  for (const name of names) {
    for (const path of [encodeURIComponent(name), name.split('/').map(encodeURIComponent).join('/')]) {
      for (const prefix of ['/ws/', '/v1/ws/']) {
        await using socket = await connect(server.ws + prefix + path);
        await server.post('/push', { data: name, channel: name });
        const [message] = await socket.take(1);
        assert.equal(await fetch(`${message.url}?raw=1`).then((r) => r.text()), name);
      }
    }
    const { status, json } = await server.post(`/channels/${encodeURIComponent(name)}`, { msg: 1 });
    assert.equal(status, 200);
    assert.equal(json.channel, name);
    const detail = await server.get(`/v1/channels/${encodeURIComponent(name)}`);
    assert.deepEqual([detail.json.name, detail.json.messages], [name, 5]);
  }
  const { json } = await server.get('/channels');
  assert.deepEqual(json.channels.map((each: { name: string }) => each.name).sort(), [...names].sort());
});

test('a socket resumes after the given sequence number, and is notified of a gap', async () => {
  await using server = await startTestServer({ channels: { messages: 16 } });
  const seqs: number[] = [];
  for (let i = 0; i < 40; i++) seqs.push((await server.relay.channels.publish('c', i)).seq);
  await server.core.core.sweepStore();
  await using behind = await connect(`${server.ws}/ws/c?since=${seqs[2]}`);
  const [gap, ...messages] = await behind.take(17);
  assert.deepEqual(gap, { gap: true, after: seqs[2], next: seqs[24] });
  assert.deepEqual(
    messages.map(({ msg }) => msg),
    Array.from({ length: 16 }, (_, i) => 24 + i),
  );
  assert.ok(messages.every((message) => !('gap' in message)));
  await using near = await connect(`${server.ws}/ws/c?since=${seqs[37]}`);
  assert.deepEqual(
    (await near.take(2)).map(({ msg }) => msg),
    [38, 39],
  );
  await using all = await connect(`${server.ws}/ws/c?since=all`);
  assert.deepEqual(
    (await all.take(16)).map(({ msg }) => msg),
    Array.from({ length: 16 }, (_, i) => 24 + i),
  );
  await server.relay.channels.publish('c', 'live');
  for (const socket of [behind, near, all]) assert.equal((await socket.take(1))[0].msg, 'live');
});

test('sockets that join during a burst get each message once and in order', async () => {
  await using server = await startTestServer();
  const count = 2000;
  let sent = 0;
  const sockets: Awaited<ReturnType<typeof connect>>[] = [];
  const sending = (async () => {
    for (; sent < count; sent++) await server.relay.channels.publish('busy', sent);
  })();
  while (sent < count) {
    sockets.push(await connect(`${server.ws}/ws/busy?since=all`));
    if (sockets.length >= 20) break;
  }
  await sending;
  for (const socket of sockets) {
    const messages = await socket.take(count);
    assert.deepEqual(
      messages.map(({ msg }) => msg),
      Array.from({ length: count }, (_, i) => i),
    );
    await socket[Symbol.asyncDispose]();
  }
});

test('in a group over sockets, leases, acknowledgements and errors are frames', async () => {
  await using server = await startTestServer({ channels: { retryMs: [] } });
  for (const msg of ['a', 'b', 'c']) await server.post('/channels/tasks', { msg });
  await using socket = await connect(`${server.ws}/ws/tasks?group=workers`);
  const [first] = await socket.take(1);
  assert.deepEqual(Object.keys(first), ['msg', 'ts', 'seq', 'from', 'token', 'attempt', 'lease_until']);
  const { seq, token } = first;
  socket.send({ extend: seq, token });
  const [extended] = await socket.take(1);
  assert.deepEqual(extended, { extended: seq, token, lease_until: extended.lease_until });
  assert.ok(extended.lease_until >= first.lease_until);
  socket.send({ ack: seq, token });
  const answers = await socket.take(2);
  assert.deepEqual(
    answers.find((frame) => 'acked' in frame),
    { acked: seq, token },
  );
  const second = answers.find((frame) => 'msg' in frame);
  assert.equal(second.msg, 'b');
  socket.send({ nack: seq, token });
  const [refused] = await socket.take(1);
  assert.deepEqual([refused.code, refused.seq, refused.token], ['conflict', seq, token]);
  socket.send({ nack: second.seq, token: second.token });
  const more = await socket.take(2);
  const nacked = more.find((frame) => 'nacked' in frame);
  assert.deepEqual(nacked, {
    nacked: second.seq,
    token: second.token,
    dead: false,
    retry_at: nacked.retry_at,
  });
  const again = more.find((frame) => 'msg' in frame);
  assert.deepEqual([again.seq, again.attempt], [second.seq, 2]);
  const acked = await server.post('/channels/tasks/groups/workers/ack', {
    seq: again.seq,
    token: again.token,
  });
  assert.deepEqual(acked, { status: 200, json: { seq: again.seq } });
  const stale = await server.post('/v1/channels/tasks/groups/workers/ack', {
    seq: again.seq,
    token: second.token,
  });
  assert.deepEqual([stale.status, stale.json.code], [409, 'conflict']);
  const [third] = await socket.take(1);
  assert.equal(third.msg, 'c');
  const inspected = await server.get('/channels/tasks');
  assert.equal(inspected.json.groups[0].backlog, 0);
  assert.equal(inspected.json.groups[0].leases[0].seq, third.seq);
});

test('groups with slashes in their names work over HTTP', async () => {
  await using server = await startTestServer();
  await server.post(`/channels/${encodeURIComponent('a/b')}`, { msg: 1 });
  await using socket = await connect(`${server.ws}/ws/a/b?group=${encodeURIComponent('x/y.z')}`);
  const [{ seq, token }] = await socket.take(1);
  const path = `/channels/a%2Fb/groups/${encodeURIComponent('x/y.z')}`;
  assert.equal((await server.post(`${path}/extend`, { seq, token })).status, 200);
  assert.equal((await server.post(`${path}/ack`, { seq, token })).status, 200);
});

test('an invalid frame, or a group frame outside a group, is answered with an error', async () => {
  await using server = await startTestServer();
  await using socket = await connect(`${server.ws}/ws/c`);
  for (const frame of ['hello', '[]', 'null', '{"ack":1,"token":2}', '{"ack":"1"}', '{}']) {
    socket.send(frame);
    const [answer] = await socket.take(1);
    assert.equal(answer.code, 'bad_request', frame);
    assert.ok(answer.hint);
  }
  socket.send('{"ping":1}');
  assert.deepEqual(await socket.take(1), [{ pong: 1 }]);
  socket.socket.send(Buffer.from([1, 2, 3]));
  assert.equal((await socket.take(1))[0].code, 'bad_request');
});

test('a frame that is too large closes the socket with code 1009', async () => {
  await using server = await startTestServer();
  const socket = await connect(`${server.ws}/ws/c`);
  socket.send('x'.repeat(5000));
  assert.equal((await socket.closed).code, 1009);
});

test('an invalid request is rejected with the reason before the socket opens', async () => {
  await using server = await startTestServer();
  const cases: [string, number, string][] = [
    ['/ws/', 400, 'bad_request'],
    [`/ws/${'x'.repeat(257)}`, 400, 'bad_request'],
    ['/ws/%ff', 400, 'bad_request'],
    ['/ws/a%00b', 400, 'bad_request'],
    ['/ws/c?since=soon', 400, 'bad_request'],
    ['/ws/c?group=', 400, 'bad_request'],
    [`/ws/c?group=${'x'.repeat(65)}`, 400, 'bad_request'],
    ['/ws/c?group=g&prefetch=0', 400, 'bad_request'],
    ['/ws/c?ticket=made-up', 401, 'unauthorized'],
    ['/elsewhere', 404, 'no_route'],
  ];
  for (const [path, status, code] of cases) {
    const { status: actualStatus, json } = await refusal(server.ws + path);
    assert.deepEqual([path, actualStatus, json.code], [path, status, code]);
    assert.ok(json.error && json.hint);
  }
});

test('web pages of other origins, and other host names, are rejected', async () => {
  await using server = await startTestServer();
  for (const headers of [
    { Origin: 'https://evil.example' },
    { Origin: 'null' },
    { Origin: 'http://localhost:3000' },
    { Host: 'evil.example' },
    { Host: 'rebound.example:7474' },
  ]) {
    const { status, json } = await refusal(`${server.ws}/ws/c`, headers as unknown as Record<string, string>);
    assert.deepEqual([status, json.code], [403, 'foreign_origin']);
  }
  await using socket = await connect(`${server.ws}/ws/c`, {
    headers: { Origin: server.ws.replace('ws:', 'http:') },
  });
  await server.post('/channels/c', { msg: 1 });
  await socket.take(1);
});

test('a ticket works once', async () => {
  await using server = await startTestServer();
  const { status, json } = await server.post('/ws-ticket', {});
  assert.equal(status, 200);
  await using socket = await connect(`${server.ws}/ws/c?ticket=${json.ticket}`);
  await server.post('/channels/c', { msg: 1 });
  await socket.take(1);
  assert.equal((await refusal(`${server.ws}/ws/c?ticket=${json.ticket}`)).status, 401);
  const late = (await server.post('/ws-ticket', {})).json.ticket;
  server.core.advance(31_000);
  assert.equal((await refusal(`${server.ws}/ws/c?ticket=${late}`)).status, 401);
});

test('a request without an upgrade is answered with 426', async () => {
  await using server = await startTestServer();
  for (const path of ['/ws/c', '/ws', '/v1/ws/a/b']) {
    const { status, json } = await server.get(path);
    assert.deepEqual([status, json.code], [426, 'upgrade_required']);
  }
  assert.equal((await server.get('/ws/c?since=soon')).status, 400);
});

test('a slow reader is disconnected with its own close code, and resumes without loss', async () => {
  await using server = await startTestServer({ sockets: { slowReaderBytes: 64 * 1024 } });
  const slow = await connect(`${server.ws}/ws/c?since=0`);
  await using quick = await connect(`${server.ws}/ws/c`);
  slow.socket.pause();
  const text = 'x'.repeat(8_000);
  const count = 1500;
  for (let i = 0; i < count; i++) await server.relay.channels.publish('c', [i, text]);
  await quick.take(count);
  slow.socket.resume();
  const { code, reason } = await slow.closed;
  assert.equal(code, 4008);
  assert.match(reason, /since=\d+/);
  const last = slow.frames.at(-1);
  assert.ok(slow.frames.length < count);
  assert.equal(reason.includes(`since=${last.seq}`), true);
  await using resumed = await connect(`${server.ws}/ws/c?since=${last.seq}`);
  const rest = await resumed.take(count - slow.frames.length);
  assert.deepEqual(
    [...slow.frames, ...rest].map(({ msg }) => msg[0]),
    Array.from({ length: count }, (_, i) => i),
  );
});

test('a socket whose peer has vanished is closed, and a socket that answers stays open', async () => {
  await using server = await startTestServer({ sockets: { pingEveryMs: 60 } });
  await using there = await connect(`${server.ws}/ws/c`);
  const vanished = await connect(`${server.ws}/ws/c`);
  // This client neither reads nor answers, but its connection stays open.
  vanished.socket.pause();
  let pings = 0;
  there.socket.on('ping', () => pings++);
  await until(() => pings >= 6);
  vanished.socket.resume();
  assert.equal((await vanished.closed).code, 1006);
  await server.post('/channels/c', { msg: 'still' });
  assert.equal((await there.take(1))[0].msg, 'still');
});

test('a stopping server closes its sockets with code 1001', async () => {
  const server = await startTestServer();
  const socket = await connect(`${server.ws}/ws/c`);
  const member = await connect(`${server.ws}/ws/c?group=g`);
  await server[Symbol.asyncDispose]();
  assert.equal((await socket.closed).code, 1001);
  assert.equal((await member.closed).code, 1001);
});

test('a push is answered after its message is durable, with or without subscribers', async () => {
  await using server = await startTestServer();
  const { json } = await server.post('/push', { data: 'x', channel: 'c' });
  const { entries } = await server.core.engine.logs.read('chn.local.c');
  assert.equal((entries[0]!.data as { pointer: string }).pointer, json.id);
});
