import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../../base/json.ts';
import { makeStyle } from '../io.ts';
import { eventLine } from './event-line.ts';

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
  const told = line('thread.created', { version: 1, name: 'a\u001b[2Jb\nc\u202ed', by: 'x\r\ny' });
  assert.equal(
    told,
    '2026-01-01T00:00:00.000Z #7 thread.created  v1 · a\\u001b[2Jb c\\u202ed  by x\\u000d y',
  );
});

test('an event of any size stays one line', () => {
  assert.ok(line('other.thing', { text: 'x'.repeat(100_000) }).length < 250);
});
