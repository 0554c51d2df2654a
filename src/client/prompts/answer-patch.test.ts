import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerPatch } from './answer-patch.ts';

const block = (json: unknown, fence = '```') =>
  `Here you are.\n\n${fence}relay-patch\n${typeof json === 'string' ? json : JSON.stringify(json)}\n${fence}\n`;
const read = (text: string) => answerPatch(text, 'model-x', () => 'new-id');
const fact = (value: object) => [{ op: 'add', path: '/facts/-', value }];

test('an answer without a block changes nothing', () => {
  assert.equal(read('Just words, and ```js\ncode\n```'), null);
});

test("an item gets an id and the author's name, whatever the model wrote there", () => {
  const patch = read(block(fact({ key: 'k', value: 1, by: 'the user', at: '2020-01-01T00:00:00Z' })));
  assert.deepEqual(patch, { ops: fact({ key: 'k', value: 1, id: 'new-id', by: 'model-x' }) });
});

test('only a block at the very end is used, and of several the last one', () => {
  assert.equal(read(`${block(fact({ key: 'k', value: 1 }))}\nOne more thing.`), null);
  const two = block(fact({ key: 'first', value: 1 })) + block(fact({ key: 'second', value: 2 }));
  const patch = read(two);
  assert.ok(patch && 'ops' in patch);
  assert.deepEqual((patch.ops[0]!.value as { key: string }).key, 'second');
});

test('longer fences and tildes are fences too; a fence inside a line is not', () => {
  assert.ok(read(block(fact({ key: 'k', value: 1 }), '````')));
  assert.ok(read(block(fact({ key: 'k', value: 1 }), '~~~')));
  assert.equal(read('I could say ```relay-patch\n[]\n```'), null);
});

test('changing a part of an item also sets its author', () => {
  const patch = read(block([{ op: 'replace', path: '/facts/0/value', value: 'new' }]));
  assert.deepEqual(patch, {
    ops: [
      { op: 'replace', path: '/facts/0/value', value: 'new' },
      { op: 'add', path: '/facts/0/by', value: 'model-x' },
    ],
  });
});

const refusals: readonly [string, unknown, RegExp][] = [
  ['removing', [{ op: 'remove', path: '/facts/0' }], /only add and replace/],
  ['moving', [{ op: 'move', from: '/facts/0', path: '/facts/1' }], /only add and replace/],
  [
    'the artifacts',
    [{ op: 'add', path: '/artifacts/-', value: { ref: 'x' } }],
    /cannot be changed by an answer/,
  ],
  [
    'what was done',
    [{ op: 'add', path: '/last_actions/-', value: { description: 'x' } }],
    /cannot be changed by an answer/,
  ],
  ['the version', [{ op: 'replace', path: '/version', value: 9 }], /cannot be changed by an answer/],
  ['a whole list', [{ op: 'replace', path: '/facts', value: [] }], /is a list/],
  ['who said it', [{ op: 'replace', path: '/facts/0/by', value: 'root' }], /set by the relay/],
  ['an item that is no object', [{ op: 'add', path: '/plan/-', value: 'do it' }], /must be an object/],
  ['what is no JSON', '[{', /not JSON/],
  ['what is no list', { op: 'add' }, /not an array/],
  ['a flood', Array.from({ length: 51 }, () => fact({ key: 'k', value: 1 })[0]), /51 operations/],
];

for (const [name, json, why] of refusals) {
  test(`a patch that touches ${name} is rejected with the reason`, () => {
    const patch = read(block(json));
    assert.ok(patch && 'refused' in patch);
    assert.match(patch.refused, why);
  });
}
