import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Json, jsonEqual } from '../base/json.ts';
import { JsonDocument } from './json-document.ts';
import { JsonSyntaxError, jsonValue, parseJsonText } from './json-syntax.ts';

const edit = (text: string, work: (doc: JsonDocument) => unknown, comments = false): string => {
  const doc = new JsonDocument(text, { comments });
  work(doc);
  return doc.text;
};

test('changing a value keeps every other character', () => {
  const odd = '\uFEFF{\r\n\t"b" :  1 ,\r\n\r\n\t"a": [ 1,2 ,3 ],\r\n\t"extra": {"x":null}\r\n}\r\n\r\n';
  assert.equal(
    edit(odd, (doc) => doc.set(['a', 1], 'two')),
    odd.replace('2 ', '"two" '),
  );
  assert.equal(
    edit(odd, (doc) => doc.set(['extra', 'x'], null)),
    odd,
  );
});

test('a new member follows the indentation, line ends and comma style around it', () => {
  assert.equal(
    edit('{\r\n\t"a": 1\r\n}\r\n', (doc) => doc.set(['b', 'c'], ['x'])),
    '{\r\n\t"a": 1,\r\n\t"b": {\r\n\t\t"c": [\r\n\t\t\t"x"\r\n\t\t]\r\n\t}\r\n}\r\n',
  );
  assert.equal(
    edit('{"a":[1,2],"b":{}}', (doc) => doc.append(['a'], 3).set(['b', 'k'], { x: [1, 2] })),
    '{"a":[1,2,3],"b":{"k":{"x":[1,2]}}}',
  );
  assert.equal(
    edit('{\n  "a": ["x", "y"]\n}', (doc) => doc.append(['a'], 'z')),
    '{\n  "a": ["x", "y", "z"]\n}',
  );
  assert.equal(
    edit('{}\n', (doc) => doc.set(['a'], 1)),
    '{\n  "a": 1\n}\n',
  );
});

test('comments and trailing commas of a settings file stay in place', () => {
  const settings =
    '// mine\n{\n  "a": 1, // one\n  /* two */ "b": [\n    1, // first\n  ],\n  "c": {\n    // empty for now\n  },\n}\n';
  const added = edit(settings, (doc) => doc.append(['b'], 2).set(['c', 'k'], true).set(['d'], 'end'), true);
  assert.equal(
    added,
    '// mine\n{\n  "a": 1, // one\n  /* two */ "b": [\n    1, // first\n    2,\n  ],\n  "c": {\n    // empty for now\n    "k": true\n  },\n  "d": "end",\n}\n',
  );
  assert.equal(
    edit(added, (doc) => doc.remove(['d']).remove(['b', 1]).remove(['c', 'k']), true),
    settings,
  );
  const last = '{\n  "a": 1 // one\n}';
  assert.equal(
    edit(last, (doc) => doc.set(['b'], 2), true),
    '{\n  "a": 1, // one\n  "b": 2\n}',
  );
  assert.equal(
    edit('{"a": 1, // one\n "b": 2, "c": 3}', (doc) => doc.remove(['b']), true),
    '{"a": 1, // one\n  "c": 3}',
  );
});

test('removing an added value restores the original bytes', () => {
  for (const text of [
    '{\n  "a": 1\n}\n',
    '{"a":1}',
    '{ "a": { "b": [ 1 ] } }',
    '{\r\n\t"a": {\r\n\t\t"b": [1]\r\n\t}\r\n}',
    '{"a": {}, "l": []}',
    '{\n    "a": {\n        "b": [\n            1\n        ]\n    }\n}',
  ]) {
    assert.equal(
      edit(text, (doc) => doc.set(['new'], { deep: [1, { x: 'y' }] }).remove(['new'])),
      text,
    );
  }
});

test('syntax errors name line and column', () => {
  const cases: [string, string][] = [
    ['{\r\n  "a": 1\r\n  "b": 2\r\n}', 'a comma or } is expected at line 3, column 3'],
    ['{\n  "a": 1,\n}', 'there is a comma before } at line 3, column 1'],
    ['{\n  // no\n}', 'a name in double quotes is expected at line 2, column 3'],
    ['{"a": nul}', 'a value is expected at line 1, column 7'],
    ['{"a": [1, 2', 'the text ends too early at line 1, column 12'],
    ['', 'the text ends too early at line 1, column 1'],
    ['{} x', 'there is text after the end of the value at line 1, column 4'],
    ['"a\nb"', 'a string is not closed, or contains a character that must be escaped at line 1, column 3'],
  ];
  for (const [text, message] of cases) {
    assert.throws(() => parseJsonText(text), { name: 'JsonSyntaxError', message });
  }
  assert.throws(() => parseJsonText('['.repeat(100_000)), JsonSyntaxError);
});

test('it accepts and rejects the same texts as JSON.parse', () => {
  const texts = [
    '1',
    '-0.5e3',
    '"\\u00e9\\n"',
    'true',
    '[]',
    '{"a":[{}]}',
    '{"__proto__":1}',
    '{"a":1,"a":2}',
  ];
  for (const text of texts) assert.deepEqual(jsonValue(parseJsonText(text)), JSON.parse(text));
  for (const text of ['01', '1.', '+1', "'a'", '{a:1}', '[1,]', '"\\x"', 'truex', 'NaN', '/**/1']) {
    assert.throws(() => JSON.parse(text));
    assert.throws(() => parseJsonText(text), JsonSyntaxError, text);
  }
});

test('any sequence of edits gives the same value as editing the parsed value', () => {
  let seed = 7;
  const roll = (n: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed % n;
  };
  const styles = ['\t', '  ', '    ', ''];
  for (let round = 0; round < 300; round++) {
    const value: { [key: string]: Json } = { keep: { x: [1, 'two', null] }, list: [1], map: {} };
    let text = JSON.stringify(value, null, styles[roll(4)]);
    if (roll(2)) text = text.replaceAll('\n', '\r\n');
    const doc = new JsonDocument(text, { comments: roll(2) === 1 });
    for (let step = 0; step < 8; step++) {
      const key = `k${roll(4)}`;
      const list = value.list as Json[];
      const map = value.map as { [key: string]: Json };
      const fresh: Json = [roll(9), `v${step}`, { n: step }, [], {}][roll(5)]!;
      switch (roll(5)) {
        case 0:
          map[key] = fresh;
          doc.set(['map', key], fresh);
          break;
        case 1:
          list.push(fresh);
          doc.append(['list'], fresh);
          break;
        case 2:
          delete map[key];
          doc.remove(['map', key]);
          break;
        case 3: {
          const index = roll(list.length + 1);
          list.splice(index, 1);
          doc.remove(['list', index]);
          break;
        }
        default:
          value[key] = fresh;
          doc.set([key], fresh);
      }
      assert.ok(jsonEqual(doc.get(), value), `${doc.text}\n${JSON.stringify(value)}`);
    }
  }
});
