import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ourHook } from '../../src/app/install/entries.ts';
import { appendDecision } from '../../src/client/projects/decisions.ts';
import { stateJson, todosJson } from '../../src/client/projects/new-project.ts';
import { commandTree } from '../../src/interfaces/cli/commands/completion.ts';
import { ROOT } from '../../src/interfaces/cli/commands.ts';

/**
 * Names that agents and users depend on: commands, fields of project files, and hooks in settings files. They are
 * literals on purpose.
 */

const COMMANDS: { [path: string]: string[] } = {
  'project init': ['force'],
  'project start': ['for', 'max-tokens', 'dir'],
  'project sync': [
    'phase',
    'task',
    'doing',
    'done',
    'next',
    'blocked',
    'drop',
    'note',
    'todo',
    'decision',
    'session',
    'commit',
    'dir',
  ],
  'project check': ['accept', 'dir'],
  'project handoff': ['expect', 'context', 'dir'],
  'project report': ['result', 'artifact', 'failed', 'dir'],
  'project result': ['all', 'dir'],
  'todo add': ['priority', 'notes', 'dir'],
  'todo start': ['dir'],
  'todo done': ['dir'],
  'todo block': ['reason', 'dir'],
  'todo list': ['all', 'status', 'dir'],
  'todo review': ['dir'],
  decide: ['context', 'decision', 'consequences', 'status', 'supersedes', 'dir'],
  handoff: ['to', 'ask', 'context', 'thread', 'max-tokens', 'push', 'channel', 'dir'],
  install: ['project', 'user', 'dry-run', 'check', 'remove', 'only'],
};

test('the commands about projects keep their names and flags', async () => {
  const tree = new Map((await commandTree(ROOT)).map((node) => [node.path, Object.keys(node.flags)]));
  for (const [path, flags] of Object.entries(COMMANDS)) {
    assert.ok(tree.has(path), `relay ${path}`);
    for (const flag of flags) assert.ok(tree.get(path)!.includes(flag), `relay ${path} --${flag}`);
  }
});

test('new project files have exactly these fields', () => {
  const at = '2026-04-20T10:00:00+08:00';
  assert.deepEqual(JSON.parse(stateJson(at)), {
    phase: '',
    current_task: '',
    progress: { completed: [], in_progress: '', blocked: [], next_steps: [] },
    last_update: at,
    session_id: '',
    notes: '',
  });
  assert.deepEqual(JSON.parse(todosJson(at)), { todos: [], last_review: at });
  const fresh = { title: 'T', context: 'c', decision: 'd', consequences: 'e' };
  assert.equal(
    appendDecision('', fresh, '2026-04-20').text,
    '## ADR-001: T\n- Date: 2026-04-20\n- Status: Accepted\n- Context: c\n- Decision: d\n- Consequences: e\n',
  );
});

test('our lines in the settings of users are recognized', () => {
  for (const client of ['claude', 'codex', 'gemini']) {
    for (const event of ['session-start', 'prompt-submit', 'pre-compact', 'stop']) {
      assert.ok(ourHook(`relay hook ${client} ${event}`, client));
    }
  }
});
