import assert from 'node:assert/strict';
import { test } from 'node:test';
import { takeOverState } from './versions.ts';

const NOTHING = {
  facts: [],
  constraints: [],
  open_questions: [],
  decisions: [],
  plan: [],
  artifacts: [],
  last_actions: [],
};

test('valid values are imported; removed nulls and generated ids are reported', () => {
  const { content, left, emptied } = takeOverState(
    {
      $schema: 'com.relay.state.v1',
      version: 7,
      facts: [
        { id: 'f1', key: 'db', value: null, by: null },
        { key: 'lang', value: 'Go' },
      ],
      constraints: null,
      decisions: [{ id: 'd1', description: 'use it', reason_codes: null, at: '' }],
      session_summary: 'so far',
      artifacts: [{ ref: 'x' }],
      metrics: { cache_hits: 3 },
    },
    new Map(),
  );
  assert.deepEqual(content, {
    ...NOTHING,
    facts: [
      { id: 'f1', key: 'db', value: null },
      { id: 'facts-2', key: 'lang', value: 'Go' },
    ],
    decisions: [{ id: 'd1', description: 'use it' }],
    artifacts: [{ ref: 'x' }],
    session_summary: 'so far',
  });
  assert.deepEqual(left, ['/facts/1 of the state had no id; its new id is facts-2']);
  assert.equal(emptied, true);
});

test('values that do not fit are reported', () => {
  const { content, left, emptied } = takeOverState(
    { plan: [{ id: 'p1' }, { id: 'p2', step: 's' }, 'p3'], mood: 'good', facts: 'none' },
    new Map(),
  );
  assert.deepEqual(content, { ...NOTHING, plan: [{ id: 'p2', step: 's' }] });
  assert.deepEqual(left, [
    '/plan/0 of the state is not valid and was dropped',
    '/plan/2 of the state is not valid and was dropped',
    'the field "mood" of the state cannot be imported and was dropped',
    'the field "facts" of the state cannot be imported and was dropped',
  ]);
  assert.equal(emptied, false);
});

test('a changed artifact ref is changed in all places that refer to it', () => {
  const { content } = takeOverState(
    {
      decisions: [{ id: 'd', description: 'why', evidence_refs: ['old', 'other'] }],
      last_actions: [{ description: 'x', result_ref: 'old' }],
    },
    new Map([['old', 'new']]),
  );
  assert.deepEqual(content, {
    ...NOTHING,
    decisions: [{ id: 'd', description: 'why', evidence_refs: ['new', 'other'] }],
    last_actions: [{ description: 'x', result_ref: 'new' }],
  });
});
