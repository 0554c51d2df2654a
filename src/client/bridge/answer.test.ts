import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerText, readAnswer } from './answer.ts';

const read = (answer: object) => readAnswer(`\n${JSON.stringify({ a2a: '1.0', ...answer })}\n`);

test('only an object that declares itself an answer is an answer', () => {
  for (const output of ['done', '{"task": {}}', '[1]', '{"a2a": "0.3", "task": {}}', 'so: {"a2a": "1.0"}'])
    assert.equal(readAnswer(output), null, output);
});

test('the default state of a task is completed, and a message is an answer without a task', () => {
  assert.deepEqual(read({ task: {} }), {
    state: 'completed',
    direct: false,
    messageParts: [],
    artifacts: [],
  });
  const message = read({ message: { parts: [{ text: 'hello' }] } });
  assert.deepEqual([message?.direct, message?.messageParts.length], [true, 1]);
});

test('an error in an answer names its place', () => {
  const wrong: [object, RegExp][] = [
    [{}, /either "task" or "message"/],
    [{ task: {}, message: {} }, /not both/],
    [{ task: 1 }, /task is not an object/],
    [
      { task: { status: { state: 'input-required' } } },
      /task\.status\.state must be one of TASK_STATE_COMPLETED/,
    ],
    [{ task: { artifacts: {} } }, /task\.artifacts is not a list/],
    [{ task: { artifacts: [{ parts: [] }] } }, /task\.artifacts\[0\]\.parts must be a list/],
    [
      { message: { parts: [{ text: 'a', url: 'https://b' }] } },
      /message\.parts\[0\] must have exactly one of/,
    ],
    [{ message: { parts: [{ url: 'file:///etc/passwd' }] } }, /parts\[0\]\.url must be an http/],
    [{ message: { parts: [{ raw: 'no base64!' }] } }, /parts\[0\]\.raw is not base64/],
    [{ message: { parts: [{ text: 7 }] } }, /parts\[0\]\.text is not a string/],
    [{ message: { parts: Array(101).fill({ text: 'x' }) } }, /more than 100 parts/],
    [{ task: { artifacts: Array(51).fill({ parts: [{ text: 'x' }] }) } }, /at most 50 artifacts/],
    [{ task: { artifacts: Array(2).fill({ parts: Array(60).fill({ text: 'x' }) }) } }, /more than 100 parts/],
    [
      { message: { parts: [{ text: 'x', filename: 'x'.repeat(257) }] } },
      /filename must be a string of at most 256/,
    ],
  ];
  for (const [answer, why] of wrong)
    assert.throws(
      () => read(answer),
      { code: 'bad_request', message: why },
      JSON.stringify(answer).slice(0, 80),
    );
});

test('an answer is converted to text for readers that accept only text', () => {
  const parts = [{ data: { a: 1 } }, { url: 'https://x/y' }, { raw: 'AAAA', filename: 'z.png' }];
  const status = { message: { parts: [{ text: 'made them' }] } };
  const answer = read({ task: { status, artifacts: [{ parts }] } })!;
  assert.equal(answerText(answer), 'made them\n{\n  "a": 1\n}\nhttps://x/y\n(a file: z.png)');
});
