import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../base/json.ts';
import type { ThreadEvent, ThreadsApi } from '../../contract/threads.ts';
import { makeStyle } from './io.ts';
import { eventLine, newestEvents } from './thread-events.ts';

const look = { interactive: false, style: makeStyle(false) };
const line = (type: string, payload: JsonObject) =>
  eventLine({ id: '7', thread_id: 't', type, payload, timestamp: '2026-01-01T00:00:00.000Z' }, look);

test('an event is one line with time, number, type, details and author', () => {
  const ops = ['/a', '/b', '/c', '/d'].map((path) => ({ op: 'remove', path }));
  assert.equal(
    line('state.patch.applied', { version: 4, by: 'ada', ops }),
    '2026-01-01T00:00:00.000Z #7 state.patch.applied  v4 · remove /a, remove /b, remove /c, 1 more  by ada',
  );
  assert.equal(
    line('artifact.pulled', { ref: 'abc', tokens: 1200, by: 'ada' }),
    '2026-01-01T00:00:00.000Z #7 artifact.pulled  1,200 tokens · abc  by ada',
  );
  assert.equal(
    line('build.ended', { status: 'green', by: 'ci' }),
    '2026-01-01T00:00:00.000Z #7 build.ended  {"status":"green"}  by ci',
  );
});

test('foreign text in an event cannot move the cursor or break the line', () => {
  const output = line('thread.created', { version: 1, name: 'a\u001b[2Jb\nc\u202ed', by: 'x\r\ny' });
  assert.equal(
    output,
    '2026-01-01T00:00:00.000Z #7 thread.created  v1 · a\\u001b[2Jb c\\u202ed  by x\\u000d y',
  );
});

test('an event of any size stays one line', () => {
  assert.ok(line('other.thing', { text: 'x'.repeat(100_000) }).length < 250);
});

/**
 * Creates a thread with a log of `length` events, served in pages of at most `most`. Every tenth event
 * creates a version.
 */
function threadOf(length: number, most: number) {
  const reads: string[] = [];
  const event = (n: number): ThreadEvent => ({
    id: String(n),
    thread_id: 't',
    type: n % 10 === 0 ? 'state.patch.applied' : 'artifact.pulled',
    payload: {},
    timestamp: '2026-01-01T00:00:00.000Z',
  });
  const api = {
    get: async () => ({ event_count: length }),
    events: async (_: string, { after = '0', limit = most }) => {
      reads.push(after);
      const start = Number(after);
      const end = Math.min(length, start + Math.min(limit, most));
      const events = Array.from({ length: end - start }, (_, i) => event(start + i + 1));
      return { events, next: end < length ? String(end) : undefined };
    },
  };
  return { threads: api as unknown as ThreadsApi, reads };
}

const ids = (events: readonly ThreadEvent[]) => events.map(({ id }) => Number(id));

test('the newest events are read from the end, oldest first', async () => {
  const { threads, reads } = threadOf(10_000, 1000);
  assert.deepEqual(ids(await newestEvents(threads, 't', { most: 3 })), [9998, 9999, 10_000]);
  assert.deepEqual(reads, ['9950']);
});

test('the log is read back until enough matching events are found', async () => {
  const { threads, reads } = threadOf(1000, 1000);
  const matches = ({ type }: ThreadEvent) => type === 'state.patch.applied';
  const found = await newestEvents(threads, 't', { most: 12, matches });
  assert.deepEqual(
    ids(found),
    Array.from({ length: 12 }, (_, i) => 890 + i * 10),
  );
  assert.equal(reads.length, 3);
});

test('all events are returned even if pages are short', async () => {
  const { threads } = threadOf(205, 40);
  const all = await newestEvents(threads, 't', { most: Number.POSITIVE_INFINITY });
  assert.deepEqual(
    ids(all),
    Array.from({ length: 205 }, (_, i) => i + 1),
  );
});

test('an empty log, or no matching event, gives an empty list', async () => {
  assert.deepEqual(await newestEvents(threadOf(0, 10).threads, 't', { most: 5 }), []);
  assert.deepEqual(await newestEvents(threadOf(20, 10).threads, 't', { most: 0 }), []);
});
