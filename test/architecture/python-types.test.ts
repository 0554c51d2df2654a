import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

test('the types of the Python package follow the schemas of the API', () => {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/python-types.ts', '--check'], {
    cwd: `${import.meta.dirname}/../..`,
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
});
