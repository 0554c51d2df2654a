import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ThreadEvent, ThreadsApi } from '../../../contract/threads.ts';
import { newestEvents } from './event-line.ts';

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
  const wanted = ({ type }: ThreadEvent) => type === 'state.patch.applied';
  const found = await newestEvents(threads, 't', { most: 12, wanted });
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
