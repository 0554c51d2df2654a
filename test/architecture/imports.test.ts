import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importsOf } from './imports.ts';

/** `§{` stands for `${`, which the linter reports in a plain string. */
function importLines(source: string): string[] {
  return importsOf(source.replaceAll('§', '$')).map(
    ({ kind, specifier, line }) => `${line} ${kind} ${specifier}`,
  );
}

test('every form of an import is found, with its line', () => {
  const source = [
    "import a from './a.ts';",
    "import * as b from './b.ts';",
    "import c, { d as e, default as f } from './c.ts';",
    "import './side-effect.ts';",
    'import {',
    '  g,',
    '  h,',
    '} from "./g.ts";',
    "export * from './i.ts';",
    "export * as j from './j.ts';",
    "export { k, l as m } from './k.ts';",
    "const n = await import('./n.ts');",
    "const o = require('./o.ts');",
    "const p = process.getBuiltinModule('node:fs');",
    "import data from './q.json' with { type: 'json' };",
    'const r = await import(`./r.ts`);',
  ];
  assert.deepEqual(importLines(source.join('\n')), [
    '1 value ./a.ts',
    '2 value ./b.ts',
    '3 value ./c.ts',
    '4 value ./side-effect.ts',
    '5 value ./g.ts',
    '9 value ./i.ts',
    '10 value ./j.ts',
    '11 value ./k.ts',
    '12 dynamic ./n.ts',
    '13 dynamic ./o.ts',
    '14 dynamic node:fs',
    '15 value ./q.json',
    '16 dynamic ./r.ts',
  ]);
});

test('an import counts as a type import only if all of it is erased', () => {
  assert.deepEqual(importLines("import type { A } from './a.ts';"), ['1 type ./a.ts']);
  assert.deepEqual(importLines("import type A from './a.ts';"), ['1 type ./a.ts']);
  assert.deepEqual(importLines("export type { A } from './a.ts';"), ['1 type ./a.ts']);
  assert.deepEqual(importLines("export type * from './a.ts';"), ['1 type ./a.ts']);
  assert.deepEqual(
    importLines("import { type A } from './a.ts';"),
    ['1 value ./a.ts'],
    'the file is still loaded',
  );
  assert.deepEqual(importLines("import type from './a.ts';"), ['1 value ./a.ts'], 'a default called type');
});

test('text that only looks like an import is ignored', () => {
  const source = [
    "// import a from './comment.ts';",
    "/* import b from './comment.ts'; */",
    '/** Reads `import c from "./comment.ts"`. */',
    `const d = "import e from './string.ts'";`,
    "const f = `import g from './template.ts'`;",
    "const h = /import i from '.*'/;",
    'const j = [1, 2].map((x) => x / 2) / 3; // "',
    "export const from = 'k'; const l = { from: './property.ts', import: './property.ts', export: 1 };",
    "export function from(m: string) { return m.import('./method.ts'); }",
    "export type N = { from: string }; const o = 'from';",
    "export { from }; const p = ['./q.ts'];",
    "const url = import.meta.url + 'x';",
    "const here = await import(name + './computed.ts');",
  ];
  assert.deepEqual(importLines(source.join('\n')), []);
});

test('quotes in comments, regular expressions and templates do not hide imports', () => {
  const hidden = [
    "// it's",
    '/* " */',
    'const a = /[\'"`]/g.test(b);',
    "const c = x.replace(/[/'\"]/, '');",
    'const d = `§{e ? `\'§{f}` : "}"} it\'s`;',
    'const g = { h: `§{{ i: 1 }.i}` };',
    'const j = 4 / 2; const k = "a/b";',
    "const l = 'it\\'s';",
    'const m = (n as number) / 2 / 1;',
  ];
  for (const line of hidden) {
    assert.deepEqual(importLines(`${line}\nimport x from './x.ts';`), ['2 value ./x.ts'], line);
  }
  const inside = "const a = `§{await import('./inside.ts')}`;";
  assert.deepEqual(importLines(inside), ['1 dynamic ./inside.ts'], 'what a template runs is code');
});
