import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { namePublished } from '../../scripts/release/published.ts';
import { ON_NPM } from '../../src/base/installing.ts';
import { ROOT } from '../package/processes.ts';

const skip = ON_NPM && 'it is turned on already';

test('only after publishing, the program and the install page name the npm package', {
  skip,
}, async () => {
  const root = mkdtempSync(join(tmpdir(), 'relay-published-'));
  try {
    for (const path of ['src/base/installing.ts', 'docs/install.md'])
      cpSync(join(ROOT, path), join(root, path), { recursive: true });
    const page = () => readFileSync(join(root, 'docs/install.md'), 'utf8');
    const installerTexts = async () => {
      const { GET_NEWER, GET_RUNTIME } = await import(
        `${join(root, 'src/base/installing.ts')}?${Math.random()}`
      );
      return `${GET_NEWER}\n${GET_RUNTIME}\n`;
    };
    const byName = /npm install (?:-g )?contextrelay(?:-runtime)?(?![-\w.])/g;
    assert.deepEqual([...`${page()}${await installerTexts()}`.matchAll(byName)], []);
    namePublished(root);
    assert.equal([...page().matchAll(byName)].length, 3);
    assert.equal([...(await installerTexts()).matchAll(byName)].length, 2);
    assert.doesNotMatch(page(), /npm pack\b|until published|so far/);
    assert.throws(() => namePublished(root), /installing\.ts has no more to turn on/);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});
