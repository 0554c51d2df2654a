import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openJsonFile } from './files.ts';
import {
  collectHandoff,
  openHandoff,
  readHandoffs,
  readState,
  reportHandoff,
  saveCheckpoint,
  syncState,
} from './state.ts';

const AT = '2026-04-20T10:00:00+08:00';
const LATER = '2026-04-20T11:00:00+08:00';
const TEXT = `{
    "phase": "development",
    "progress": {
        "next_steps": ["Registration", "Reset"],
        "in_progress": "Login",
        "completed": ["Design"],
        "blocked": []
    },
    "team": {"lead": "Ann"},
    "current_task": "Auth",
    "last_update": "2026-04-19T10:00:00+08:00"
}
`;
const open = (text = TEXT) => openJsonFile('state.json', text);

test('a sync adds to lists, moves finished items, and changes nothing else', () => {
  const doc = open();
  syncState(
    doc,
    { done: ['login', 'Reset'], next: ['Logout', 'Registration'], note: 'CORS', session: 's1' },
    AT,
  );
  assert.equal(
    doc.text,
    `{
    "phase": "development",
    "progress": {
        "next_steps": ["Registration", "Logout"],
        "in_progress": "",
        "completed": ["Design", "login", "Reset"],
        "blocked": []
    },
    "team": {"lead": "Ann"},
    "current_task": "Auth",
    "last_update": "${AT}",
    "notes": "CORS",
    "session_id": "s1"
}
`,
  );
});

test('a checkpoint changes last_update and keeps the time of the last real sync', () => {
  const doc = open();
  const checkpoint = {
    client: 'claude',
    session_id: 's2',
    trigger: 'auto',
    branch: 'main',
    commit: null,
    files_in_flight: ['a.ts'],
  };
  saveCheckpoint(doc, { at: AT, ...checkpoint });
  const once = doc.text;
  saveCheckpoint(doc, { at: LATER, ...checkpoint });
  assert.equal(doc.text, once, 'nothing new, nothing written');
  checkpoint.files_in_flight.push('b.ts');
  saveCheckpoint(doc, { at: LATER, ...checkpoint });
  const state = readState(doc);
  assert.equal(state.last_update, LATER);
  assert.equal(state.last_sync, '2026-04-19T10:00:00+08:00');
  const last_sync = '2026-04-19T10:00:00+08:00';
  assert.deepEqual(doc.get(['checkpoint']), { at: LATER, last_sync, ...checkpoint });
  assert.equal(state.checkpoint?.at, LATER);
  syncState(doc, {}, '2026-04-20T12:00:00+08:00');
  assert.equal(readState(doc).last_sync, '2026-04-20T12:00:00+08:00');
});

test('two sub-agents report to separate hand-offs, and each reports once', () => {
  const doc = open();
  const one = openHandoff(doc, { task: 'port it', expect: 'tests', context: ['https://r/pull/1'] }, AT);
  const two = openHandoff(doc, { task: 'review it', expect: 'faults' }, AT);
  assert.deepEqual([one.id, two.id], ['HANDOFF-001', 'HANDOFF-002']);
  assert.throws(
    () => reportHandoff(doc, null, { result: 'x' }, LATER),
    /several open hand-offs: HANDOFF-001, HANDOFF-002/,
  );
  reportHandoff(doc, '2', { result: 'two faults', artifacts: ['f.md'] }, LATER);
  reportHandoff(doc, null, { result: 'it would not build', failed: true }, LATER);
  assert.deepEqual(
    readHandoffs(doc).map(({ status, result, artifacts }) => [status, result, artifacts]),
    [
      ['failed', 'it would not build', []],
      ['done', 'two faults', ['f.md']],
    ],
  );
  assert.throws(() => reportHandoff(doc, '1', { result: 'again' }, LATER), { code: 'conflict' });
  assert.equal(doc.get(['last_update']), '2026-04-19T10:00:00+08:00');
  assert.equal(collectHandoff(doc, 'HANDOFF-001', LATER).read_at, LATER);
});

test('old hand-offs that were read are deleted; open and unread ones never are', () => {
  const doc = open();
  for (let n = 1; n <= 30; n++) {
    const { id } = openHandoff(doc, { task: `t${n}`, expect: '' }, AT);
    if (n > 2) reportHandoff(doc, id, { result: 'ok' }, LATER);
    if (n > 3) collectHandoff(doc, id, LATER);
  }
  openHandoff(doc, { task: 'last', expect: '' }, AT);
  const ids = readHandoffs(doc).map(({ id }) => id);
  assert.deepEqual(ids.slice(0, 4), ['HANDOFF-001', 'HANDOFF-002', 'HANDOFF-003', 'HANDOFF-011']);
  assert.equal(ids.at(-1), 'HANDOFF-031');
  assert.equal(ids.length, 24);
});
