import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openMemory } from '../../engines/memory/engine.ts';
import { type ActivityEntry, ActivityLog, activityStream } from './activity-log.ts';

test('activities right after a write are written together in the next write', async () => {
  const engine = openMemory();
  const log = new ActivityLog({ engine, env: { now: engine.now } });
  const batches = async () => {
    const { entries } = await engine.logs.read(activityStream('acme'));
    return entries.map(({ data }) => (data as unknown as ActivityEntry).items.map(({ pointer }) => pointer));
  };
  const note = (pointer: string) => log.note('acme', { kind: 'pointer.pushed', by: 'ann', pointer });
  note('first');
  await log.flush();
  for (const pointer of ['second', 'third', 'fourth']) {
    note(pointer);
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
  }
  await log.flush();
  assert.deepEqual(await batches(), [['first'], ['second', 'third', 'fourth']]);
  await engine[Symbol.asyncDispose]();
});
