import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agentMessage, nextStep, stepsSince, type TaskRecord } from './task-record.ts';

const FIRST: TaskRecord = {
  id: 'first-turn',
  context_id: 'c',
  agent: 'a',
  done_channel: 'done',
  state: 'submitted',
  at: '2026-01-01T00:00:00.000Z',
  message: {},
  webhooks: [],
};

test('a message of an earlier turn has the same id in the history of a late reader', () => {
  const at = (second: number) => `2026-01-01T00:00:0${second}.000Z`;
  const inputRequired = nextStep(FIRST, { ...FIRST, state: 'input_required', at: at(1), note: 'more?' });
  const working = nextStep(inputRequired, {
    ...inputRequired,
    state: 'working',
    at: at(2),
    note: undefined,
    turn: 'second-turn',
  });
  const again = nextStep(working, { ...working, state: 'input_required', at: at(3), note: 'still more?' });
  const idsOf = (record: TaskRecord) => agentMessage(record, 'http://relay')?.messageId;
  const late = [...stepsSince(FIRST, again)].map(idsOf);
  assert.deepEqual(late, [inputRequired, working, again].map(idsOf));
  assert.deepEqual(late, ['first-turn-input_required', undefined, 'second-turn-input_required']);
});
