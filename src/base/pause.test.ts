import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { pause } from './pause.ts';

test('a pause ends by itself, and leaves no listener behind', async () => {
  const { signal } = new AbortController();
  await pause(1, signal);
  await pause(1);
  assert.equal(getEventListeners(signal, 'abort').length, 0);
});

test('a pause ends when its signal aborts, also if it was aborted before', async () => {
  const controller = new AbortController();
  const long = pause(2 ** 31 - 1, controller.signal);
  controller.abort();
  await long;
  await pause(2 ** 31 - 1, controller.signal);
});
