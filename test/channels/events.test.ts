import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startRelay, type Wire } from '../http/relay-under-test.ts';
import { type ServerUnderTest, startTestServer } from './server.ts';

interface Event {
  readonly id?: string;
  readonly event?: string;
  readonly data: Wire;
}

/** Reads server-sent events as curl would print them. */
async function listen(server: ServerUnderTest, path: string, headers: Record<string, string> = {}) {
  const abort = new AbortController();
  const response = await fetch(server.url + path, { headers, signal: abort.signal });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8');
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  const next = async (): Promise<Event> => {
    for (;;) {
      const end = text.indexOf('\n\n');
      if (end < 0) {
        const { done, value } = await reader.read();
        if (done) throw new Error('the stream ended');
        text += value;
        continue;
      }
      const block = text.slice(0, end);
      text = text.slice(end + 2);
      const field = (name: string) =>
        block
          .split('\n')
          .find((line) => line.startsWith(`${name}: `))
          ?.slice(name.length + 2);
      const data = field('data');
      if (data !== undefined) return { id: field('id'), event: field('event'), data: JSON.parse(data) };
    }
  };
  return { next, stop: () => abort.abort(), ended: () => reader.closed };
}

test('a channel can be followed with server-sent events whose id is the sequence number', async () => {
  await using server = await startTestServer();
  await server.post('/channels/a%2Fb', { msg: 'before' });
  const events = await listen(server, '/channels/a%2Fb/events');
  const pushed = await server.post('/push', { data: 'x', channel: 'a/b' });
  await server.post('/channels/a%2Fb', { msg: 'two\nlines' });
  const first = await events.next();
  assert.deepEqual([first.data.url, first.id], [pushed.json.url, String(first.data.seq)]);
  assert.equal((await events.next()).data.msg, 'two\nlines');
  events.stop();
});

test('Last-Event-ID resumes after that event and overrides the query', async () => {
  await using server = await startTestServer();
  const seqs = [];
  for (let i = 0; i < 5; i++) seqs.push((await server.post('/channels/c', { msg: i })).json.seq);
  const resumed = await listen(server, '/v1/channels/c/events?since=all', {
    'Last-Event-ID': String(seqs[2]),
  });
  assert.equal((await resumed.next()).data.msg, 3);
  resumed.stop();
  const all = await listen(server, '/channels/c/events?since=all');
  assert.equal((await all.next()).data.msg, 0);
  all.stop();
});

test('a gap has its own event type', async () => {
  await using server = await startTestServer({ channels: { messages: 16 } });
  const first = (await server.post('/channels/c', { msg: 'first' })).json.seq;
  for (let i = 0; i < 40; i++) await server.relay.channels.publish('c', i);
  await server.core.core.sweepStore();
  const events = await listen(server, `/channels/c/events?since=${first}`);
  const gap = await events.next();
  assert.deepEqual([gap.event, gap.data.gap], ['gap', true]);
  const message = await events.next();
  assert.deepEqual([message.event, message.data.msg, message.data.seq], [undefined, 24, gap.data.next]);
  events.stop();
});

test('a group works with server-sent events and HTTP requests alone', async () => {
  await using server = await startTestServer();
  await server.post('/channels/c', { msg: 'work' });
  const events = await listen(server, '/channels/c/events?group=g');
  const { data } = await events.next();
  const acked = await server.post('/channels/c/groups/g/ack', { seq: data.seq, token: data.token });
  assert.equal(acked.status, 200);
  events.stop();
});

test('an invalid request for events is rejected with the reason', async () => {
  await using server = await startTestServer();
  for (const query of ['?since=soon', '?group=', '?group=g&prefetch=x', '?group=g&prefetch=1000']) {
    assert.equal((await server.get(`/channels/c/events${query}`)).status, 400, query);
  }
  assert.equal((await server.get(`/channels/${'x'.repeat(257)}/events`)).status, 400);
});

test('a stopping server ends its streams at once, and a disconnected reader is released', async () => {
  const server = await startTestServer();
  const listener = await listen(server, '/channels/c/events');
  listener.stop();
  const events = await listen(server, '/channels/c/events');
  const ended = events.next().then(
    () => 'an event',
    () => 'the end',
  );
  await server[Symbol.asyncDispose]();
  assert.equal(await ended, 'the end');
});

test('a reader that got no message before the server stopped gets the id from which to resume', async () => {
  await using relay = await startRelay();
  const body = JSON.stringify({ msg: 'before' });
  const headers = { 'Content-Type': 'application/json' };
  const { seq } = await (await fetch(`${relay.url}/channels/c`, { method: 'POST', headers, body })).json();
  const silent = await fetch(`${relay.url}/channels/c/events`);
  const response = await fetch(`${relay.url}/channels/c/events?since=all`);
  await relay.stop();
  assert.equal(await silent.text(), `retry: 1000\n\nid: ${seq}\n\n`);
  assert.match(await response.text(), /^retry: 1000\n\nid: \d+\ndata: .*\n\n$/);
});
