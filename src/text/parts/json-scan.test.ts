import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scanJson } from './json-pointer.ts';

const parses = (read: () => unknown) => {
  try {
    read();
    return true;
  } catch {
    return false;
  }
};

const TEXTS = [
  ...[
    '',
    ' ',
    '1',
    '-0',
    '01',
    '1.',
    '.5',
    '-',
    '1e5',
    '1e',
    '1E+5',
    'true',
    'tru',
    'nulll',
    'NaN',
    '"a"',
    '"a',
  ],
  ...[
    '"\\u12aF"',
    '"\\u12a"',
    '"\\x"',
    '"\t"',
    '"\\\\"',
    '"\\"',
    '[]',
    '[ ]',
    '[1]',
    '[1,]',
    '[,1]',
    '[1 2]',
    '[1]]',
  ],
  ...[
    '{}',
    '{ }',
    '{"a":1}',
    '{"a":1,}',
    '{"a"}',
    '{a:1}',
    '{"a":1 "b":2}',
    '{,}',
    '[}',
    '{]',
    '[{}]',
    '[{},{}]',
  ],
  ...['\n[1,\r\n2]\t', '\u00a0[]', '{"a":{"b":[[],{}]}}', '[1', '{"a":', '{"a', '[[]', '"\u2028"', '\u000b1'],
];

test('accepts the same texts as JSON.parse', () => {
  for (const text of TEXTS)
    assert.equal(
      parses(() => scanJson(text)),
      parses(() => JSON.parse(text)),
      JSON.stringify(text),
    );
});

test('judges every one-character change as JSON.parse does', () => {
  const text = '{"a": [1, -2.5e3, "x\\n\\u00e9"], "b": {"c": null, "d": [true, false, {}]}}';
  for (let at = 0; at < text.length; at++) {
    for (const char of ['', ',', ':', '"', '[', '}', '0', '\\', ' ', 'e', '\n']) {
      const changed = text.slice(0, at) + char + text.slice(at + 1);
      assert.equal(
        parses(() => scanJson(changed)),
        parses(() => JSON.parse(changed)),
        changed,
      );
    }
  }
});

test('finds the values on a path with their positions; the last of repeated names counts', () => {
  const text = '{"a": 1, "b": {"c": [1]}, "a": {"c": [10, {"d": "x"}]}, "\\u0062": 7}';
  const at = (...path: string[]) => scanJson(text, path).map(({ from, to }) => text.slice(from, to));
  assert.deepEqual(at('a', 'c', '1', 'd').slice(1), [
    '{"c": [10, {"d": "x"}]}',
    '[10, {"d": "x"}]',
    '{"d": "x"}',
    '"x"',
  ]);
  assert.deepEqual(at('b').slice(1), ['7']);
  assert.equal(at('b', 'c').length, 2);
  assert.deepEqual(
    scanJson(text, ['a', 'c']).map(({ kind, count }) => `${kind} of ${count}`),
    ['object of 4', 'object of 1', 'array of 2'],
  );
});
