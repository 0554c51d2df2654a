import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makePreview } from '../preview/preview.ts';
import { neutralise } from './neutralise.ts';

/** Finds text that a Markdown or HTML renderer would turn into a link, an image or a request. */
const ACTIVE: readonly RegExp[] = [
  /\]\(/,
  /\]:(?!\d)/,
  /<[a-z][a-z0-9+.-]*:/i,
  /<(?:a|img|iframe|svg|video|link|style|script|form|x-y)\b/i,
];

const LINKS: readonly (readonly [written: string, shown: string])[] = [
  ['![logo](https://evil.example/p.png?d=1)', '![logo] (`https://evil.example/p.png?d=1`)'],
  ['[your bank](https://evil.example "Bank")', '[your bank] (`https://evil.example` "Bank")'],
  ['[a](<https://evil.example>)', '[a] (`https://evil.example`)'],
  ['[a](\n  //evil.example/x)', '[a] (\n  `//evil.example/x`)'],
  ['[a](h&#116;tps://evil.example)', '[a] (`h&#116;tps://evil.example`)'],
  ['[![x](https://a.example)](https://b.example)', '[![x] (`https://a.example`)] (`https://b.example`)'],
  ['![x][p]\n\n[p]: https://evil.example/x.png', '![x][p]\n\n[p] : https://evil.example/x.png'],
  ['> - [p]:https://evil.example', '> - [p] :https://evil.example'],
  ['<https://evil.example>', '< https://evil.example>'],
  ['<img src="https://evil.example/x.png">', '< img src="https://evil.example/x.png">'],
  ['<IMG\nSRC=//evil.example>', '< IMG\nSRC=//evil.example>'],
  ['<img "<" src=//evil.example>', '< img "<" src=//evil.example>'],
  ['<a href=https://evil.example>here</a>', '< a href=https://evil.example>here< /a>'],
  ['<x-y style="background:url(//evil.example)">', '< x-y style="background:url(//evil.example)">'],
  ['<style>@import "//evil.example"</style>', '< style>@import "//evil.example"< /style>'],
];

test('links and images become plain text', async () => {
  for (const [written, neutralised] of LINKS) {
    assert.equal(neutralise(written), neutralised);
    assert.equal(neutralise(neutralised), neutralised, 'once is enough');
    for (const kind of ['markdown', 'text'] as const) {
      const start = new TextEncoder().encode(`before\n\n${written}\n\nafter\n`);
      const { text } = await makePreview(kind, { start, size: start.length, lineCount: 5, isText: true });
      for (const active of ACTIVE) assert.doesNotMatch(text, active);
      assert.ok(text.includes('.example'), 'where it leads stays readable');
    }
  }
});

test('escaped tags on a page do not become images', async () => {
  const start = new TextEncoder().encode(
    '<p>&lt;img src=//evil.example/x.png&gt; ![x](https://evil.example)</p>',
  );
  const { text } = await makePreview('html', { start, size: start.length, lineCount: 1, isText: true });
  assert.equal(text, '< img src=//evil.example/x.png> ![x] (`https://evil.example`)');
});

test('addresses, code and plain words stay unchanged', () => {
  for (const text of [
    'See https://relay.example/pull/24d18e66 and http://[::1]:7474/pull/x.',
    'if (a < b && c > d) list[0] = map<string, number>();',
    'const f = (x: Array<string>) => x[i] ?? [];',
    '- [ ] open\n- [x] done [1]',
    '{"a": ["b"], "c": [[1], [2]]}',
  ])
    assert.equal(neutralise(text), text);
});
