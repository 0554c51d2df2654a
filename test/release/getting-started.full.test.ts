import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { compileExecutable } from '../../scripts/build/executable.ts';
import { pageScript } from '../docs/page-script.ts';
import { outsideEnv, ROOT, run } from '../package/processes.ts';
import { inRoot, layDebianRoot, missing, noRoots } from './root.ts';

const skip = noRoots() || missing('debootstrap');

test('the executable passes all steps of docs/getting-started.md on a bare Debian', { skip }, async (t) => {
  process.chdir(ROOT);
  const parent = mkdtempSync(join(tmpdir(), 'relay-bare-'));
  t.after(() => rmSync(parent, { recursive: true, force: true }));
  const root = join(parent, 'root');
  await layDebianRoot(root);
  const program = join(parent, 'relay');
  compileExecutable(program);
  copyFileSync(program, join(root, 'usr/bin/relay'));
  const { script } = pageScript(readFileSync('docs/getting-started.md', 'utf8'));
  // A bare Debian has no curl, so `relay push` replaces it.
  const page = script.replace(/^curl -sd "([^"]*)" (http:\S+)\/push$/m, 'echo "$1" | relay push --url $2');
  assert.notEqual(page, script, 'the page pushes with curl');
  const [command, ...args] = inRoot(root, `cd /srv && exec bash -eo pipefail -c "$PAGE"`);
  const env = { ...outsideEnv(), PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/srv', PAGE: page };
  const { code, stdout, stderr } = await run(command!, args, { env });
  assert.equal(code, 0, `${stdout}\n${stderr}`);
  assert.match(stdout, /Everything works\./);
});
