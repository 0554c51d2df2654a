import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import * as runners from '../../src/app/agents/node-runners.ts';
import * as testing from '../../src/app/testing.ts';
import * as sdk from '../../src/public/index.ts';
import { exportedNames } from '../package/exported-names.ts';
import { ROOT } from '../package/processes.ts';
import { assertPinnedJson } from './pinned.ts';

/**
 * Compares the names that the package exports with sdk-types.json: there, `types` and `values` are what the compiler
 * sees, and `at run time` is what an import returns.
 * test/package/sdk-program checks the types themselves. UPDATE_PINS=1 rewrites sdk-types.json; see pinned.ts.
 */

type Conditions = { readonly [condition: string]: string };
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  exports: { readonly [entry: string]: string | Conditions };
};
const AT_RUN_TIME: { readonly [entry: string]: object } = {
  '.': sdk,
  './runners': runners,
  './testing': testing,
};

test('the entry points of the package export exactly these values and types', () => {
  const entries = Object.entries(manifest.exports).map(([entry, to]) => {
    if (typeof to === 'string') return [entry, to];
    // Each file of dist/src is compiled from one file of src.
    const source = join(ROOT, to.types!.replace('./dist/', '').replace(/\.d\.ts$/, '.ts'));
    const names = exportedNames(source);
    const conditions = Object.keys(to);
    // Integrations need their peer packages to load; test/integrations checks them.
    const loaded = AT_RUN_TIME[entry];
    return [entry, { conditions, ...names, ...(loaded && { 'at run time': Object.keys(loaded).sort() }) }];
  });
  assertPinnedJson('sdk-types.json', Object.fromEntries(entries));
});

test('the program that pins the types imports each of them', () => {
  const folder = join(ROOT, 'test', 'package', 'sdk-program');
  const read = (name: string) => readFileSync(join(folder, `${name}.ts.txt`), 'utf8');
  const program = ['pointers', 'channels', 'tasks', 'threads', 'files', 'relay'].map(read).join('\n');
  const imports = [...program.matchAll(/^import (?:type )?\{([^}]*)\} from 'contextrelay';/gm)];
  const imported = new Set(imports.flatMap(([, list]) => list!.split(',').map((name) => name.trim())));
  const pinned = JSON.parse(readFileSync(join(import.meta.dirname, 'sdk-types.json'), 'utf8'));
  const missing = [...pinned['.'].values, ...pinned['.'].types].filter((name) => !imported.has(name));
  assert.deepEqual(missing, []);
  const { values, types } = pinned['./runners'];
  const absent = [...values, ...types].filter((name) => !program.includes(`runners.${name}`));
  assert.deepEqual(absent, []);
});
