import assert from 'node:assert/strict';
import { test } from 'node:test';
import { firstLine, OUTCOME_INSTRUCTION, OUTCOME_REQUEST, readOutcome } from './outcome.ts';

const block = (completed: string, notes = 'none') =>
  `=== CC_OUTCOME_START ===\nCOMPLETED: ${completed}\nNOT_DONE: nothing\nNOTES: ${notes}\n=== CC_OUTCOME_END ===`;

test('the block is removed from the output, and its COMPLETED text is read', () => {
  const outcome = readOutcome(`thinking…\n${block('tests pass\nand more', 'slow')}\n> `);
  assert.equal(outcome.text, 'COMPLETED: tests pass\nand more\nNOT_DONE: nothing\nNOTES: slow');
  assert.equal(outcome.completed, 'tests pass\nand more');
});

test('the last block is used', () => {
  assert.equal(readOutcome(`${block('first')}\n${block('second')}`).completed, 'second');
});

test('an echo of the instruction before or after the block is not the answer', () => {
  assert.equal(readOutcome(`> do it\n${OUTCOME_INSTRUCTION}\n`).found, false);
  assert.equal(readOutcome(`${OUTCOME_INSTRUCTION}\n${block('real')}`).completed, 'real');
  assert.equal(readOutcome(`${block('real')}\n${OUTCOME_INSTRUCTION}`).completed, 'real');
  assert.equal(readOutcome(`please ${OUTCOME_REQUEST}`).found, false);
});

test('an echo that the terminal wrapped is still recognized', () => {
  const broken = OUTCOME_INSTRUCTION.replace('(what is left, or nothing)', '(what is left,\n  or nothing)');
  assert.equal(readOutcome(broken).found, false);
});

test('without a block the whole output is returned and marked', () => {
  const outcome = readOutcome('\njust words\n');
  assert.deepEqual({ text: outcome.text, found: outcome.found }, { text: 'just words', found: false });
});

test('an unfinished block is ignored, and a new start marker begins the block again', () => {
  assert.equal(readOutcome('=== CC_OUTCOME_START ===\nCOMPLETED: half').found, false);
  const twice = `=== CC_OUTCOME_START ===\nCOMPLETED: lost\n${block('kept')}`;
  assert.equal(readOutcome(twice).completed, 'kept');
});

test('frames, bullets and indentation of a terminal are removed', () => {
  const framed = block('boxed')
    .split('\n')
    .map((line) => `│ ${line.padEnd(40)} │`)
    .join('\n');
  assert.equal(readOutcome(framed).text, 'COMPLETED: boxed\nNOT_DONE: nothing\nNOTES: none');
  const indented = block('deep')
    .split('\n')
    .map((line, i) => (i === 0 ? `⏺ ${line}` : `  ${line}`))
    .join('\n');
  assert.equal(readOutcome(indented).text, 'COMPLETED: deep\nNOT_DONE: nothing\nNOTES: none');
});

test('a marker in the middle of a line is ordinary text', () => {
  assert.equal(readOutcome('say === CC_OUTCOME_START === x\n=== CC_OUTCOME_END === y').found, false);
});

test('a summary is one line with a length limit', () => {
  assert.equal(firstLine(readOutcome(block('one\ntwo')).completed!, 100), 'one');
  assert.equal(firstLine('abcdef', 4), 'abc…');
});
