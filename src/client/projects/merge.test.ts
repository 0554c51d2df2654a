import assert from 'node:assert/strict';
import { test } from 'node:test';
import { appendDecision, readDecisions } from './decisions.ts';
import { DECISIONS_MD, STATE_JSON, sidesOf, TODOS_JSON } from './files.ts';
import { mergeProject, type ProjectSides } from './merge.ts';

const sections = { context: 'c', decision: 'd', consequences: 'e' };
const ONE = appendDecision('# Decisions\n', { title: 'First', ...sections }, '2026-01-01').text;
const grown = (text: string, title: string, date: string, supersedes?: string[]) =>
  appendDecision(text, { title, supersedes, ...sections }, date).text;

const merged = async (sides: ProjectSides) => {
  const merge = await mergeProject(sides, async () => assert.fail('nothing to merge by lines'));
  return { ...merge, text: (name: keyof ProjectSides) => merge.files[name]!.text };
};
const swapped = ({ base, ours, theirs }: { base: string; ours: string; theirs: string }) => ({
  base,
  ours: theirs,
  theirs: ours,
});
const titles = (text: string) => readDecisions(text).map(({ id, title }) => `${id} ${title}`);

test('of two decisions with the same number the older one keeps it, whichever side is merged', async () => {
  const side = grown(grown(ONE, 'Side', '2026-01-03'), 'On it', '2026-01-04', ['ADR-002']);
  const decisions = { base: ONE, ours: grown(ONE, 'Main', '2026-01-02'), theirs: side };
  for (const sides of [decisions, swapped(decisions)]) {
    const { text, renumbered } = await merged({ [DECISIONS_MD]: sides });
    assert.deepEqual(titles(text(DECISIONS_MD)), [
      'ADR-001 First',
      'ADR-002 Main',
      'ADR-004 Side',
      'ADR-005 On it',
    ]);
    assert.deepEqual(readDecisions(text(DECISIONS_MD)).at(-1)!.supersedes, ['ADR-004']);
    assert.deepEqual(
      renumbered.map(({ from, to }) => `${from} ${to}`),
      ['ADR-002 ADR-004', 'ADR-003 ADR-005'],
    );
  }
});

test('a decision that was renumbered in an earlier merge is recognized', async () => {
  const before = grown(ONE, 'Side', '2026-01-03');
  const main = grown(grown(ONE, 'Main', '2026-01-02'), 'Side', '2026-01-03');
  const side = grown(before, 'More', '2026-01-05', ['ADR-002']);
  const decisions = { base: before, ours: main, theirs: side };
  for (const sides of [decisions, swapped(decisions)]) {
    const { text } = await merged({ [DECISIONS_MD]: sides });
    assert.deepEqual(titles(text(DECISIONS_MD)), [
      'ADR-001 First',
      'ADR-002 Main',
      'ADR-003 Side',
      'ADR-004 More',
    ]);
    assert.deepEqual(readDecisions(text(DECISIONS_MD)).at(-1)!.supersedes, ['ADR-003']);
  }
});

const todo = (number: number, title: string, created: string, more = {}) => ({
  id: `TODO-00${number}`,
  title,
  priority: 'medium',
  status: 'pending',
  created,
  updated: null,
  notes: '',
  ...more,
});
const todos = (list: unknown[], last_review = '2026-01-01T00:00:00Z') =>
  `${JSON.stringify({ todos: list, last_review }, null, 2)}\n`;

test('todos of both sides are kept, duplicate numbers change, and references in other files follow', async () => {
  const first = todo(1, 'first', '2026-01-01T00:00:00Z');
  const done = { ...first, status: 'completed', updated: '2026-01-04T00:00:00Z', notes: 'by us' };
  const blocked = { ...first, status: 'blocked', updated: '2026-01-03T00:00:00Z', notes: 'by them' };
  const state = (next: string[], last_update: string, completed: string[] = []) =>
    `${JSON.stringify({ phase: 'x', progress: { completed, next_steps: next }, last_update }, null, 2)}\n`;
  const { text } = await merged({
    [TODOS_JSON]: {
      base: todos([first]),
      ours: todos([done, todo(2, 'ours', '2026-01-02T00:00:00Z')], '2026-01-05T00:00:00Z'),
      theirs: todos([blocked, todo(2, 'theirs', '2026-01-02T08:00:00+01:00', { notes: 'after TODO-001' })]),
    },
    [STATE_JSON]: {
      base: state(['a'], '2026-01-01T00:00:00Z'),
      ours: state(['a', 'TODO-002'], '2026-01-02T00:00:00Z'),
      theirs: state(['TODO-002 first'], '2026-01-03T00:00:00Z', ['a']),
    },
  });
  const list = JSON.parse(text(TODOS_JSON));
  assert.deepEqual(
    list.todos.map((each: { id: string; title: string }) => `${each.id} ${each.title}`),
    ['TODO-001 first', 'TODO-002 ours', 'TODO-003 theirs'],
  );
  assert.equal(list.todos[0].status, 'completed', 'what was changed later counts');
  assert.equal(list.todos[0].notes, 'by us\nby them');
  assert.equal(list.last_review, '2026-01-05T00:00:00Z');
  assert.deepEqual(JSON.parse(text(STATE_JSON)), {
    phase: 'x',
    progress: { completed: ['a'], next_steps: ['TODO-002', 'TODO-003 first'] },
    last_update: '2026-01-03T00:00:00Z',
  });
});

test('both sides of a file are found by its conflict markers', () => {
  const text = 'a\n<<<<<<< HEAD\nb\n||||||| base\nz\n=======\nc\n>>>>>>> side\nd\n';
  assert.deepEqual(sidesOf(text), { base: 'a\nz\nd\n', ours: 'a\nb\nd\n', theirs: 'a\nc\nd\n' });
});
