import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkCycles } from './cycles.ts';
import { importsOf } from './imports.ts';
import { LAYERS } from './layer-table.ts';
import { checkLayers } from './layers.ts';
import { projectFiles } from './project-files.ts';
import type { Finding } from './source-file.ts';

test('imports of the project point inward', () => {
  const files = projectFiles(['src']);
  assert.ok(files.length > 20, 'the sources were found');
  assert.deepEqual(lines(checkLayers(files)), []);
});

test('the project has no import cycles', () => {
  assert.deepEqual(lines(checkCycles(projectFiles(['src', 'bin', 'bench', 'scripts', 'test']))), []);
});

test('the conformance cases use no Node API, so that they run on every platform of an engine', () => {
  const cases = projectFiles(['test/conformance']).filter(({ path }) => !/\/run(?:\.test)?\.ts$/.test(path));
  assert.ok(cases.some(({ path }) => path === 'test/conformance/suite.ts'));
  for (const { path, text } of cases) {
    const outside = importsOf(text).filter(({ specifier }) => !specifier.startsWith('.'));
    assert.deepEqual(outside, [], path);
    assert.ok(!importsOf(text).some(({ specifier }) => specifier.endsWith('/run.ts')), path);
  }
});

test('each layer imports only inner layers', () => {
  const allowed: Record<string, { values: string; types: string }> = {
    base: { values: '', types: '' },
    text: { values: 'base', types: '' },
    formats: { values: 'base', types: '' },
    kernel: { values: 'base', types: '' },
    engines: { values: 'base kernel', types: '' },
    schemas: { values: 'base', types: 'formats' },
    contract: { values: 'base', types: 'schemas kernel text formats' },
    domain: { values: 'base text formats kernel contract', types: '' },
    sdk: { values: 'base text formats contract', types: '' },
    client: { values: 'base text formats contract sdk', types: 'kernel' },
    runners: { values: 'base text contract sdk client', types: '' },
    integrations: { values: 'base text formats contract sdk', types: '' },
    interfaces: { values: 'base text formats contract schemas domain sdk client', types: '' },
    public: { values: 'base contract sdk client', types: 'text formats' },
    app: {
      values: 'base text formats kernel engines contract schemas domain sdk client runners interfaces',
      types: '',
    },
  };
  assert.deepEqual(Object.keys(allowed).sort(), Object.keys(LAYERS).sort());
  for (const [from, { values, types }] of Object.entries(allowed)) {
    for (const to of Object.keys(LAYERS)) {
      if (to === from) continue;
      const value = `import { x } from '../../${to}/a/b.ts';`;
      const type = `import type { X } from '../../${to}/a/b.ts';`;
      const late = `const { x } = await import('../../${to}/a/b.ts');`;
      const loads = values.split(' ').includes(to);
      const names = loads || types.split(' ').includes(to);
      assert.equal(red(`src/${from}/y/z.ts`, value), !loads, `${from} loads ${to}`);
      assert.equal(red(`src/${from}/y/z.ts`, late), !loads, `${from} loads ${to} later`);
      assert.equal(red(`src/${from}/y/z.ts`, type), !names, `${from} names types of ${to}`);
    }
  }
});

test('an outward import is reported with its line and both layers', () => {
  const text = "import { a } from './a.ts';\nimport { Pointers } from '../domain/pointers/pointers.ts';\n";
  assert.deepEqual(checkLayers([{ path: 'src/kernel/blobs.ts', text }]), [
    { path: 'src/kernel/blobs.ts:2', what: 'kernel may not import domain (../domain/pointers/pointers.ts)' },
  ]);
});

test('folders of the domain import only types of each other', () => {
  const from = 'src/domain/tasks/tasks.ts';
  assert.ok(red(from, "import { Pointers } from '../pointers/pointers.ts';"));
  assert.ok(!red(from, "import type { Pointers } from '../pointers/pointers.ts';"));
  assert.ok(!red(from, "import { lease } from './lease.ts';"));
  assert.ok(!red(from, "import { lease } from './deep/lease.ts';"));
  assert.ok(
    !red(from, "import { LOCAL } from '../caller.ts';"),
    'what lies in the layer itself belongs to all',
  );
  assert.ok(!red('src/domain/relay.ts', "import { Pointers } from './pointers/pointers.ts';"));
});

test('engines, interfaces, runners and integrations do not import each other, not even types', () => {
  for (const [layer, one, other] of [
    ['engines', 'memory', 'sqlite'],
    ['interfaces', 'mcp', 'http'],
    ['runners', 'exec', 'tmux'],
    ['integrations', 'ai', 'langchain'],
  ]) {
    assert.ok(red(`src/${layer}/${one}/a.ts`, `import { b } from '../${other}/b.ts';`));
    assert.ok(red(`src/${layer}/${one}/a.ts`, `import type { B } from '../${other}/b.ts';`));
    assert.ok(!red(`src/${layer}/${one}/a.ts`, `import { b } from './b.ts';`));
  }
});

test('listed folders may import each other in the listed direction', () => {
  const layers = {
    interfaces: { ...LAYERS.interfaces!, between: [['ws', 'http'] as const] },
    domain: { ...LAYERS.domain!, between: [['tasks', 'channels'] as const] },
  };
  const load = (path: string, to: string) =>
    checkLayers([{ path, text: `import { b } from '${to}';` }], layers).length === 0;
  assert.ok(load('src/domain/tasks/a.ts', '../channels/b.ts'));
  assert.ok(!load('src/domain/channels/a.ts', '../tasks/b.ts'));
  const meet = (from: string, to: string) => load(`src/interfaces/${from}/a.ts`, `../${to}/b.ts`);
  assert.ok(meet('ws', 'http'));
  assert.ok(!meet('http', 'ws'));
  assert.ok(!meet('ws', 'cli'));
});

test('only local engines, runners, the command line and the app use Node APIs', () => {
  const uses = [
    "import { readFile } from 'node:fs/promises';",
    "import type { Stats } from 'node:fs';",
    "import fs from 'fs';",
    "import { join } from 'path/posix';",
    "export * from 'node:util';",
    "await import('node:crypto');",
    "process.getBuiltinModule('node:http');",
    "process.getBuiltinModule('http');",
  ];
  for (const use of uses) {
    for (const path of [
      'src/base/hash.ts',
      'src/kernel/engine.ts',
      'src/domain/pointers/pointers.ts',
      'src/schemas/table.ts',
      'src/sdk/client.ts',
      'src/engines/memory/blobs.ts',
      'src/engines/cloudflare/blobs.ts',
      'src/interfaces/http/routes.ts',
      'src/interfaces/paths.ts',
    ]) {
      assert.ok(red(path, use), `${path}: ${use}`);
    }
    for (const path of [
      'src/engines/sqlite/blobs.ts',
      'src/interfaces/cli/run.ts',
      'src/app/serve/serve.ts',
      'src/runners/exec/run.ts',
    ]) {
      assert.ok(!red(path, use), `${path}: ${use}`);
    }
    assert.ok(!red('src/base/hash.test.ts', use), 'a test may');
  }
});

test('text imports only its listed packages, schemas only zod, and base, sdk and contract none', () => {
  assert.ok(!red('src/text/tokens.ts', "import { x } from 're2js/build';"));
  assert.ok(red('src/base/tokens.ts', "import { x } from 're2js/build';"));
  assert.ok(red('src/text/tokens.ts', "import { x } from 're2js-extra';"));
  assert.ok(red('src/base/tokens.ts', "import { z } from 'zod';"));
  assert.ok(red('src/base/tokens.ts', "import type { z } from '@scope/zod/v4';"));
  for (const name of ['zod', 'hono', 'ws', 're2js'])
    for (const light of ['src/sdk/client.ts', 'src/contract/verb.ts'])
      assert.ok(red(light, `import '${name}';`), `${light} ${name}`);
  assert.ok(!red('src/schemas/table.ts', "import { z } from 'zod';"));
  assert.ok(red('src/schemas/table.ts', "import { Hono } from 'hono';"));
  assert.ok(red('src/domain/pointers/pointers.ts', "import { z } from 'zod';"));
  assert.ok(red('src/kernel/engine.ts', "import { z } from 'zod';"));
  assert.ok(!red('src/interfaces/http/routes.ts', "import { Hono } from 'hono';"));
});

test('no source imports a test, or a file outside the layers', () => {
  assert.ok(red('src/app/serve.ts', "import { x } from './serve.test.ts';"));
  assert.ok(red('src/app/serve.ts', "import { x } from '../conformance/run.ts';"));
  assert.ok(red('src/app/serve.ts', "import { x } from '../../scripts/build.ts';"));
  assert.ok(red('src/app/serve.ts', "import { x } from '../../bin/relay.ts';"));
  assert.ok(red('src/app/serve.ts', "import { x } from '../loose.ts';"));
  assert.ok(!red('src/app/serve.test.ts', "import { x } from '../conformance/run.ts';"));
  assert.ok(
    !red('src/client/a/b.ts', "import x from '../../../schemas/x.schema.json' with { type: 'json' };"),
  );
});

test('src contains only layers', () => {
  assert.ok(red('src/loose.ts', ''));
  assert.ok(red('src/unheard-of/a.ts', ''));
  assert.ok(red('src/toString/a.ts', ''));
});

test('an import cycle is reported once, with its files', () => {
  const files = [
    { path: 'src/base/a.ts', text: "import { b } from './b.ts';" },
    { path: 'src/base/b.ts', text: "export { c } from './deep/c.ts';" },
    { path: 'src/base/deep/c.ts', text: "import '../a.ts';" },
    { path: 'src/base/d.ts', text: "import './a.ts';" },
  ];
  assert.deepEqual(lines(checkCycles(files)), [
    'src/base/a.ts loads itself: src/base/a.ts → src/base/b.ts → src/base/deep/c.ts → src/base/a.ts',
  ]);
  assert.equal(checkCycles([{ path: 'src/base/a.ts', text: "import './a.ts';" }]).length, 1, 'of one');
});

test('type imports and dynamic imports count in a cycle too', () => {
  for (const back of ["import type { A } from './a.ts';", "const a = () => import('./a.ts');"]) {
    const files = [
      { path: 'src/base/a.ts', text: "import { b } from './b.ts';" },
      { path: 'src/base/b.ts', text: back },
    ];
    assert.equal(checkCycles(files).length, 1, back);
  }
});

function red(path: string, text: string): boolean {
  return checkLayers([{ path, text }]).length > 0;
}

function lines(findings: readonly Finding[]): string[] {
  return findings.map(({ path, what }) => `${path} ${what}`);
}
