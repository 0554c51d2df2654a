import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openThreads, realCounter } from '../../test/threads/open-threads.ts';
import { billOf, brokenClaim } from './bill.ts';
import { CASES } from './questions.ts';
import { around, isRight, NOT_FOUND } from './reader.ts';
import { brokenStateClaim, stateBill, sumStates } from './state-bill.ts';
import { STATES } from './states.ts';

test('95 % of the tokens of pasting are avoided with 95 % correct answers, and two tokenizers agree', async () => {
  const bill = await billOf(openThreads().api, realCounter);
  assert.equal(brokenClaim(bill), null);
  const [pasting, random, newest, ours] = bill.all;
  assert.equal(pasting!.right, pasting!.asked, 'whoever sees all of it knows everything');
  assert.ok(random!.right < ours!.right / 2 && newest!.right < ours!.right / 2);
  assert.ok(ours!.sent >= ours!.second, 'what is sent again is in it');
});

test('a claim that does not hold is reported', () => {
  const line = { asked: 100, right: 100, answerable: 90, answered: 90, tokens: 4, second: 4, sent: 4 };
  const pasting = { ...line, way: 'pasting', tokens: 100, second: 100, sent: 100 } as const;
  const broken = (ours: object) =>
    brokenClaim({ cases: [], all: [pasting, { ...line, way: 'ours', ...ours }] });
  assert.equal(broken({}), null);
  assert.match(broken({ tokens: 6 })!, /avoided/);
  assert.match(broken({ second: 6 })!, /avoided/);
  assert.match(broken({ right: 94 })!, /right/);
  assert.match(broken({ answered: 85 })!, /of what the texts say/);
  assert.match(broken({ tokens: 3 })!, /by the second count/);
});

test('a fact counts only as a whole word, and an answer that nothing was found only if no text has the answer', () => {
  const one = { ask: 'Which status?', facts: ['204'] };
  assert.equal(around(one, 'it was 12041'), null);
  assert.equal(isRight(one, 'It is 204.'), true);
  assert.equal(isRight(one, NOT_FOUND), false);
  assert.equal(isRight({ ask: 'Who?', facts: [] }, NOT_FOUND), true);
  assert.equal(isRight({ ask: 'Who?', facts: [] }, 'Ada'), false);
  assert.ok(CASES.reduce((sum, { questions }) => sum + questions.length, 0) >= 79);
});

test('the view of a state stays within its budget at every size, with 95 % of the answers right', async () => {
  assert.deepEqual(
    STATES.map(({ items, questions }) => [items.length, questions.length]),
    [50, 150, 400, 1_000, 2_000].map((items) => [items, 12]),
  );
  const rows = await stateBill(openThreads().api, realCounter);
  assert.equal(brokenStateClaim(rows), null);
  const [pasting] = sumStates(rows);
  const wrong = rows.map((row) => ({
    ...row,
    lines: row.lines.map((line) => (line.way === 'ours' ? { ...line, right: 11 } : line)),
  }));
  assert.match(brokenStateClaim(wrong)!, /only 55 of 60 answers/);
  assert.equal(pasting!.right, pasting!.asked, 'a reader of the whole state knows everything');
});

test('a reader believes the first of two values, so a stale value in front of the current one is a wrong answer', () => {
  const question = { ask: 'When?', facts: ['day…Friday'], stale: ['day…Monday'] };
  const right = (text: string) => isRight(question, around(question, text) ?? NOT_FOUND);
  assert.equal(right('day: Friday\nday: Monday'), true);
  assert.equal(right('day: Monday\nday: Friday'), false);
  assert.equal(right('day: Monday'), false);
  assert.equal(right('day\nFriday'), false, 'key and value are on one line');
});
