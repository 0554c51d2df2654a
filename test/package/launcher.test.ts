import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ASSETS } from '../../scripts/build/executable.ts';
import { until } from '../until.ts';

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
// Write a fake setup script. It links the Node of this test to the path where npm installs Node 26.
writeFileSync(
  join(root, 'scripts', 'setup.mjs'),
  `import { mkdirSync, symlinkSync } from 'node:fs';
   const bin = new URL('../node_modules/.bin/', import.meta.url);
   mkdirSync(bin, { recursive: true });
   symlinkSync(${JSON.stringify(process.execPath)}, new URL('node', bin));
   console.error('set up');`,
);

function run(command: string, args: string[], cwd: string) {
  const { NODE_COMPILE_CACHE: _, RELAY_RUNTIME: __, ...env } = process.env;
  return JSON.parse(execFileSync(command, args, { cwd, env, encoding: 'utf8', stdio: 'pipe' }));
}

test('the launcher runs the setup if needed, then passes its arguments on unchanged', { skip }, () => {
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

const executable = join(root, 'node_modules', '.cache', 'executable', 'relay');

function writeExecutable(): void {
  mkdirSync(dirname(executable), { recursive: true });
  writeFileSync(executable, '#!/bin/sh\necho \'{"args":["compiled"]}\'\n', { mode: 0o755 });
}

test('the launcher runs the executable until one of its sources changes', { skip }, () => {
  writeExecutable();
  const sources = ['bin/relay.ts', 'src/x.ts', 'dist/cli/relay.js', 'package-lock.json'];
  const inside = [...sources, ...ASSETS].map((path) =>
    join(root, path.replaceAll('**/', '').replace('*', 'x')),
  );
  const began = new Date('2026-01-01');
  for (const path of inside) {
    mkdirSync(dirname(path), { recursive: true });
    if (!existsSync(path)) writeFileSync(path, '{"type":"module"}');
    utimesSync(path, began, began);
    for (let folder = dirname(path); folder !== root; folder = dirname(folder))
      utimesSync(folder, began, began);
  }
  assert.deepEqual(run(launcher, ['sources'], parent).args, ['compiled']);
  for (const path of inside) {
    const later = new Date(Date.now() + 60_000);
    utimesSync(path, later, later);
    assert.deepEqual(run(launcher, ['sources'], parent).args, ['sources'], path);
    utimesSync(path, began, began);
  }
  rmSync(executable);
});

const built = join(parent, 'built');

function writeBuild(): void {
  const script = `import { writeFileSync } from 'node:fs'; writeFileSync(${JSON.stringify(built)}, '');`;
  writeFileSync(join(root, 'scripts', 'build-executable.ts'), script);
}

const isRoot = process.getuid?.() === 0 && 'root may write everywhere';

test('a command in a read-only clone does not try to build the executable', { skip: skip || isRoot }, () => {
  writeBuild();
  chmodSync(join(root, 'node_modules'), 0o555);
  // Run five commands. A build started by the first command would be complete before the last command ends.
  for (let times = 0; times < 5; times++) run(launcher, ['x'], parent);
  chmodSync(join(root, 'node_modules'), 0o755);
  assert.ok(!existsSync(built));
});

test('the first command starts a background build of the executable', { skip }, async () => {
  writeBuild();
  run(launcher, ['x'], parent);
  await until(() => existsSync(built));
});

test('RELAY_RUNTIME=bun reports that another build is running', { skip }, () => {
  writeFileSync(join(root, 'scripts', 'build-executable.ts'), '');
  const env = { ...process.env, RELAY_RUNTIME: 'bun' };
  const { status, stderr } = spawnSync(launcher, ['x'], { cwd: parent, env, encoding: 'utf8' });
  assert.equal(status, 1);
  assert.match(stderr, /being built.*again/);
});
