import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

const run = promisify(execFile);

for (const name of ['researchers', 'architect-engineer', 'bridge']) {
  test(`examples/${name} runs and checks its own output`, async () => {
    const { PATH, HOME, TMPDIR } = process.env;
    const file = resolve(import.meta.dirname, `../../examples/${name}/run.ts`);
    const { stdout } = await run(process.execPath, [file, '--fake'], { env: { PATH, HOME, TMPDIR } });
    assert.match(stdout, /^the bill: \d+ tokens without the relay, \d+ with it/m);
    assert.match(stdout, /checked: /);
  });
}

test('an example without a model says so and suggests --fake', async () => {
  const { PATH, HOME, TMPDIR } = process.env;
  for (const name of ['researchers', 'architect-engineer', 'code-review', 'checkpoint', 'bridge']) {
    const file = resolve(import.meta.dirname, `../../examples/${name}/run.ts`);
    const ended = await run(process.execPath, [file], { env: { PATH, HOME, TMPDIR } }).catch(
      (error) => error,
    );
    assert.equal(ended.code, 2, name);
    assert.match(ended.stderr, /--fake/);
    assert.doesNotMatch(ended.stderr, /^ +at /m, 'no stack');
  }
});

/** Python interpreters that may have the package: from $PYTHON, or from `npm run test:python`. */
const PYTHONS = [
  process.env.PYTHON,
  resolve(import.meta.dirname, '../../node_modules/.cache/python/client/bin/python'),
];

test('examples/cross-vendor: a Python agent answers a TypeScript agent, encrypted in both directions', async (t) => {
  const { PATH, HOME, TMPDIR } = process.env;
  const python = PYTHONS.find((path) => path && existsSync(path));
  if (!python) return t.skip('there is no Python with the package: run npm run test:python, or set PYTHON');
  const file = resolve(import.meta.dirname, '../../examples/cross-vendor/run.ts');
  const env = { PATH, HOME, TMPDIR, PYTHON: python };
  const { stdout } = await run(process.execPath, [file, '--fake'], { env });
  assert.match(stdout, /^the bill: \d+ tokens without the relay, \d+ with it/m);
  assert.match(stdout, /checked: both ways encrypted/);
});

test('examples/cross-vendor says what to install if Python lacks the package', async () => {
  const { PATH, HOME, TMPDIR } = process.env;
  const file = resolve(import.meta.dirname, '../../examples/cross-vendor/run.ts');
  const env = { PATH, HOME, TMPDIR, PYTHON: 'no-such-python' };
  const ended = await run(process.execPath, [file, '--fake'], { env }).catch((error) => error);
  assert.equal(ended.code, 2);
  assert.match(ended.stderr, /pip install/);
});
