import assert from 'node:assert/strict';
import { test } from 'node:test';
import { projectFiles } from './project-files.ts';
import { checkShape } from './shape.ts';

const FOLDERS = ['src', 'bin', 'bench', 'scripts', 'test', 'examples', 'ui'];

test('files have valid names, and imports name the exact file', () => {
  assert.deepEqual(
    checkShape(projectFiles(FOLDERS)).map(({ path, what }) => `${path} ${what}`),
    [],
  );
});

test('meaningless names of files and folders are reported', () => {
  for (const path of [
    'src/base/utils.ts',
    'src/base/util/a.ts',
    'src/helpers/a.ts',
    'test/helper.ts',
    'src/base/common.ts',
    'src/misc/a.ts',
    'src/app/manager.ts',
    'src/app/key-manager.ts',
    'src/app/string-utils.test.ts',
  ]) {
    assert.equal(checkShape([{ path, text: '' }]).length, 1, path);
  }
  for (const path of ['src/base/community.ts', 'src/base/json-patch.ts', 'src/base/helpless/a.ts']) {
    assert.deepEqual(checkShape([{ path, text: '' }]), [], path);
  }
});

test('names are in kebab-case', () => {
  for (const path of ['src/base/jsonPatch.ts', 'src/Base/a.ts', 'src/base/json_patch.ts', 'src/base/-a.ts']) {
    assert.equal(checkShape([{ path, text: '' }]).length, 1, path);
  }
  for (const path of [
    'src/base/json-patch.test.ts',
    'test/soak/kill.slow.test.ts',
    'scripts/setup.mjs',
    'src/base/o200k.ts',
  ]) {
    assert.deepEqual(checkShape([{ path, text: '' }]), [], path);
  }
});

test('a relative import ends in .ts', () => {
  const text = [
    "import { a } from './a';",
    "import type { B } from '../b';",
    "export * from './c.js';",
    "await import('./d');",
    "import { e } from '.';",
  ].join('\n');
  assert.deepEqual(
    checkShape([{ path: 'src/base/x.ts', text }]).map((f) => f.path),
    [1, 2, 3, 4, 5].map((line) => `src/base/x.ts:${line}`),
  );
  const fine =
    "import { a } from './a.ts';\nimport data from './data.json' with { type: 'json' };\nimport z from 'zod';";
  assert.deepEqual(checkShape([{ path: 'src/base/x.ts', text: fine }]), []);
});
