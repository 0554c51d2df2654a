import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const skip = process.platform === 'win32' ? 'the launcher is a POSIX shell script' : false;
const parent = realpathSync(mkdtempSync(join(tmpdir(), 'relay-launcher-')));
after(() => rmSync(parent, { recursive: true, force: true }));

const root = join(parent, 'a clone');
const launcher = join(root, 'relay');
mkdirSync(join(root, 'bin'), { recursive: true });
mkdirSync(join(root, 'scripts'));
cpSync(fileURLToPath(new URL('../../relay', import.meta.url)), launcher);
chmodSync(launcher, 0o755);
writeFileSync(
  join(root, 'bin', 'relay.ts'),
  `console.log(JSON.stringify({ args: process.argv.slice(2), cache: process.env.NODE_COMPILE_CACHE as string }));`,
);
// Setup's part: it links the Node that runs this test to where npm would have put Node 26.
writeFileSync(
  join(root, 'scripts', 'setup.mjs'),
  `import { mkdirSync, symlinkSync } from 'node:fs';
   const bin = new URL('../node_modules/.bin/', import.meta.url);
   mkdirSync(bin, { recursive: true });
   symlinkSync(${JSON.stringify(process.execPath)}, new URL('node', bin));
   console.error('set up');`,
);

function run(command: string, args: string[], cwd: string) {
  const { NODE_COMPILE_CACHE: _, ...env } = process.env;
  return JSON.parse(execFileSync(command, args, { cwd, env, encoding: 'utf8', stdio: 'pipe' }));
}

test('the launcher sets up what is missing, then passes its arguments on unchanged', { skip }, () => {
  const args = ['push', 'two words', '', '$HOME', '*'];
  const cache = join(root, 'node_modules', '.cache', 'compile');
  assert.deepEqual(run(launcher, args, parent), { args, cache });
  assert.deepEqual(run('./relay', args, root), { args, cache: `${root}/./node_modules/.cache/compile` });
});

test('the launcher finds its folder through relative and absolute symbolic links', { skip }, () => {
  mkdirSync(join(parent, 'links'));
  symlinkSync('../a clone/relay', join(parent, 'links', 'one'));
  symlinkSync(join(parent, 'links', 'one'), join(parent, 'links', 'two'));
  assert.deepEqual(run(join(parent, 'links', 'two'), ['x'], tmpdir()).args, ['x']);
  assert.deepEqual(run('sh', ['one', 'x'], join(parent, 'links')).args, ['x']);
});
