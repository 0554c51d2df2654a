import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRelayError } from '../../base/errors.ts';
import { OUTLINE_ENTRIES } from '../../base/limits.ts';
import { takeOutline } from './outline.ts';

const outline = (text: string) => takeOutline(new TextEncoder().encode(text));
const entries = async (text: string) => (await outline(text)).text.split('\n').slice(1);

test('JSON is outlined with pointers, types, lengths and lines', async () => {
  const text = JSON.stringify(
    { name: 'Ada', tags: ['x', 'y'], deep: { 'a/b': { ok: true, none: null } }, n: -1.5e3 },
    null,
    2,
  );
  const part = await outline(text);
  assert.equal(
    part.text,
    [
      `json, 14 lines, ${text.length} bytes`,
      '1:(document) object of 4',
      '2:/name string of 3',
      '3:/tags array of 2',
      '4:/tags/0 string of 1',
      '7:/deep object of 1',
      '8:/deep/a~1b object of 2',
      '9:/deep/a~1b/ok boolean',
      '10:/deep/a~1b/none null',
      '13:/n number',
    ].join('\n'),
  );
  assert.equal(part.about, `outline of json, 14 lines, ${text.length} bytes`);
  assert.equal(part.truncated, false);
});

test('strings with quotes, braces and escapes are handled', async () => {
  const text = '{"a\\"}": "}]\\\\", "b": {"c": [ ] , "d": { } }, "e": "\\\\\\""}';
  assert.deepEqual(await entries(text), [
    '1:(document) object of 3',
    '1:/a"} string of 4',
    '1:/b object of 2',
    '1:/b/c array of 0',
    '1:/b/d object of 0',
    '1:/e string of 4',
  ]);
});

test('members below the shown depth are still counted', async () => {
  const text = '{"a":{"b":{"c":{"d":{"e":1,"f":[1,2],"g":"x,y"},"h":[[],[]]}}}}';
  assert.deepEqual((await entries(text)).slice(-2), ['1:/a/b/c/d object of 3', '1:/a/b/c/h array of 2']);
});

test('a large document shows fewer levels instead of being cut in the middle', async () => {
  const wide = Object.fromEntries(
    Array.from({ length: 100 }, (_, i) => [`k${i}`, { a: 1, b: 2, c: 3, d: 4, e: 5 }]),
  );
  const part = await outline(JSON.stringify(wide));
  const lines = part.text.split('\n').slice(1);
  assert.equal(lines.length, 101);
  assert.equal(lines.at(-1), '1:/k99 object of 5');
  assert.equal(part.truncated, true);
});

test('a single level that is too wide is cut', async () => {
  const part = await outline(
    JSON.stringify(Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`k${i}`, i]))),
  );
  assert.equal(part.text.split('\n').length, OUTLINE_ENTRIES + 1);
  assert.equal(part.truncated, true);
  assert.match(part.about, /cut at 500 entries/);
});

test('JSON lines are recognised by their first line', async () => {
  const part = await outline('{"role":"user","n":1}\n{"role":"agent","n":2}\n');
  assert.match(
    part.text,
    /^json lines, 2 lines, \d+ bytes\n1:\(document\) object of 2\n1:\/role string of 4\n1:\/n number$/,
  );
});

test('Markdown shows its headings, but not lines that only look like one', async () => {
  const text = [
    '---',
    'title: # no',
    '---',
    '# Title',
    '',
    'Second',
    '------',
    '```sh',
    '# a comment',
    '```',
    '#hashtag',
    '## Part ##',
    '| a | b |',
    '|---|---|',
  ].join('\n');
  assert.deepEqual(await entries(text), ['4:# Title', '6:Second', '12:## Part ##']);
  assert.match((await outline(text)).text, /^markdown, 14 lines/);
});

test('code of common languages shows its definitions', async () => {
  const languages: Record<string, [code: string, found: string[]]> = {
    typescript: [
      'import x from "y";\nexport interface A {\n  b: string;\n}\nexport class C extends D {\n  run(a: string): void {\n    if (a) {\n      go();\n    }\n  }\n}\nconst f = async (x: number) => x;',
      [
        '2:export interface A {',
        '5:export class C extends D {',
        '6:  run(a: string): void {',
        '12:const f = async (x: number) => x;',
      ],
    ],
    python: [
      '# a comment\n# another\nimport os\n\nclass Foo(Bar):\n    # third\n    def run(self, x):\n        return x\n\nasync def main():\n    pass',
      ['5:class Foo(Bar):', '7:    def run(self, x):', '10:async def main():'],
    ],
    go: [
      'package main\n\ntype T struct {\n\tx int\n}\n\nfunc (t *T) Run() error {\n\tfor {\n\t}\n}\nfunc main() {\n}',
      ['3:type T struct {', '7:func (t *T) Run() error {', '11:func main() {'],
    ],
    rust: [
      'use a::b;\npub struct P { x: i32 }\nimpl Trait for P {\n    pub async fn go(&self) -> u8 {\n        0\n    }\n}\nmod inner;',
      [
        '2:pub struct P { x: i32 }',
        '3:impl Trait for P {',
        '4:    pub async fn go(&self) -> u8 {',
        '8:mod inner;',
      ],
    ],
    java: [
      'package a;\npublic class A {\n    private final int x = 3;\n    public static void main(String[] args) {\n        while (true) {\n        }\n    }\n}',
      ['2:public class A {', '4:    public static void main(String[] args) {'],
    ],
    c: [
      '#include <stdio.h>\n# define N 3\n\nint main(int argc, char **argv) {\n  return 0;\n}',
      ['4:int main(int argc, char **argv) {'],
    ],
    ruby: [
      'module A\n  class B < C\n    def ok?\n    end\n  end\nend',
      ['1:module A', '2:  class B < C', '3:    def ok?'],
    ],
    shell: ['#!/bin/sh\n# deploys\nset -e\ndeploy() {\n  echo\n}', ['4:deploy() {']],
    sql: ['-- tables\nCREATE TABLE IF NOT EXISTS t (\n  id int\n);', ['2:CREATE TABLE IF NOT EXISTS t (']],
  };
  for (const [language, [code, found]] of Object.entries(languages)) {
    assert.deepEqual(await entries(code), found, language);
    assert.match((await outline(code)).text, /^code, /, language);
  }
});

test('prose shows the first line of each paragraph, whatever words it uses', async () => {
  const text =
    'The class of 1999 met.\nIt was fun.\n\n  \nFunction follows form; type A (see above)\nis rare.\n\nimport duties rise';
  assert.deepEqual(await entries(text), [
    '1:The class of 1999 met.',
    '5:Function follows form; type A (see above)',
    '8:import duties rise',
  ]);
});

test('an entry is short even if its line is long', async () => {
  const [only] = await entries('w'.repeat(100_000));
  assert.equal(only, `1:${'w'.repeat(120)}…`);
});

test('binary content has no outline', async () => {
  await assert.rejects(takeOutline(new Uint8Array([0x80])), (error) => isRelayError(error, 'not_text'));
});
