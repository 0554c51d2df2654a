import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { hostname } from 'node:os';
import { test } from 'node:test';
import { CORPUS, KINDS, linesOf, readOutputs } from './corpus.ts';
import { QUESTIONS } from './questions.ts';

const outputs = readOutputs();

test('each answer occurs only in the lines that the question names', () => {
  for (const { output, questions } of QUESTIONS) {
    const { text } = outputs.find(({ name }) => name === output)!;
    const lines = linesOf(text);
    for (const { ask, literal, lines: expected } of questions) {
      const matchingLines = lines.flatMap((line, n) => (line.includes(literal) ? [n + 1] : []));
      assert.deepEqual(matchingLines, expected, `${output}: ${ask}`);
    }
  }
});

test('there are outputs of every kind, each with questions', () => {
  assert.ok(outputs.length >= 40);
  assert.ok(QUESTIONS.flatMap(({ questions }) => questions).length >= 100);
  assert.deepEqual([...new Set(outputs.map(({ kind }) => kind))].toSorted(), KINDS.toSorted());
  assert.deepEqual(
    QUESTIONS.map(({ output }) => output).toSorted(),
    outputs.map(({ name }) => name).toSorted(),
  );
  for (const { output, questions } of QUESTIONS)
    assert.ok(questions.filter(({ first }) => first).length <= 1, `${output} has one first failure`);
});

test('the outputs contain nothing of the machine that made them', () => {
  for (const { name, command, text } of outputs)
    for (const value of [command, text]) {
      assert.doesNotMatch(value, /(?<![\w.])\/(?:work|root|Users|tmp\/)/, name);
      assert.ok(!value.includes(hostname()) || hostname().length < 6, name);
    }
});

test('the outputs stay small in the repository', () => {
  assert.ok(statSync(CORPUS).size < 3_000_000);
});
