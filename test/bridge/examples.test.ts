import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

const run = promisify(execFile);

for (const name of ['researchers', 'architect-engineer', 'bridge']) {
  test(`examples/${name}.ts plays its story and checks it`, async () => {
    const { PATH, HOME, TMPDIR } = process.env;
    const file = resolve(import.meta.dirname, `../../examples/${name}.ts`);
    const { stdout } = await run(process.execPath, [file, '--fake'], { env: { PATH, HOME, TMPDIR } });
    assert.match(stdout, /checked: /);
  });
}

test('an example that has no model to ask says so, and names --fake', async () => {
  const { PATH, HOME, TMPDIR } = process.env;
  for (const name of ['researchers', 'architect-engineer', 'code-review', 'checkpoint', 'bridge']) {
    const file = resolve(import.meta.dirname, `../../examples/${name}.ts`);
    const ended = await run(process.execPath, [file], { env: { PATH, HOME, TMPDIR } }).catch(
      (error) => error,
    );
    assert.equal(ended.code, 2, name);
    assert.match(ended.stderr, /--fake/);
    assert.doesNotMatch(ended.stderr, /^ +at /m, 'no stack');
  }
});
