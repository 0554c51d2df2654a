import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('../../scripts/test.ts', import.meta.url));
const root = mkdtempSync(join(tmpdir(), 'relay-runner-'));
after(() => rmSync(root, { recursive: true, force: true }));
mkdirSync(join(root, 'test'));

function file(name: string, lines: string): void {
  writeFileSync(join(root, 'test', name), `import { describe, it, test } from 'node:test';\n${lines}\n`);
}

function run(...args: string[]) {
  const { FORCE_COLOR: _, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], {
    cwd: root,
    env: { ...env, NO_COLOR: '1' },
    encoding: 'utf8',
  });
  return { status, stdout, stderr, last: stdout.trimEnd().split('\n').at(-1) };
}

test('the last line counts every test and the exit code is 0 when all passed', () => {
  file(
    'fine.test.ts',
    `test('a', () => {}); describe('s', () => { it('b', () => {}); it('c', () => {}); });`,
  );
  const { status, last } = run('test/fine');
  assert.equal(last, '3 passed, 0 failed');
  assert.equal(status, 0);
});

test('a failing test is shown with its parents, its error and the output of its file', () => {
  file(
    'bad.test.ts',
    `console.log('a clue'); test('good', () => {});
     describe('outer', () => { it('inner', () => { throw new Error('the reason'); }); });`,
  );
  const { status, stdout, last } = run('test/bad');
  assert.equal(last, '1 passed, 1 failed');
  assert.equal(status, 1);
  assert.match(stdout, /FAIL test\/bad\.test\.ts › outer › inner\n {2}at test\/bad\.test\.ts:3/);
  assert.match(stdout, /Error: the reason/);
  assert.match(stdout, /a clue/);
});

test('with --again, a failed file runs once more alone; only a second failure counts', () => {
  const once = `import { existsSync, writeFileSync } from 'node:fs';
    test('a', () => { if (existsSync('ran')) return; writeFileSync('ran', ''); throw new Error('too early'); });`;
  file('unsteady.test.ts', once);
  const { status, stdout, last } = run('--again', 'test/unsteady');
  assert.deepEqual([last, status], ['1 passed, 0 failed', 0]);
  assert.match(stdout, /Error: too early/);
  assert.match(stdout, /UNSTEADY test\/unsteady\.test\.ts/);
  rmSync(join(root, 'ran'));
  assert.deepEqual(run('test/unsteady').last, '0 passed, 1 failed');

  const names = ['broken-1', 'broken-2', 'broken-3', 'broken-4'];
  for (const name of names) file(`${name}.test.ts`, `test('a', () => { throw new Error('always'); });`);
  assert.equal(run('--again', 'test/broken-1').last, '0 passed, 1 failed');
  const many = run('--again', 'test/broken');
  assert.equal(many.last, '0 passed, 4 failed');
  assert.doesNotMatch(many.stdout, /again/, 'so many are not run again');
});

test('a skip is counted and printed with its reason, and fails without one', () => {
  file('skip.test.ts', `test('a', { skip: 'needs the moon' }, () => {});`);
  const { status, stdout, last } = run('test/skip.');
  assert.equal(last, '0 passed, 0 failed, 1 skipped');
  assert.equal(status, 0);
  assert.match(stdout, /a\n {4}needs the moon/);
  file('skip-mute.test.ts', `test('a', { skip: true }, () => {});`);
  assert.equal(run('test/skip-mute').last, '0 passed, 1 failed');
});

test('a file that cannot load, has no tests, or leaves early is a failure', () => {
  file('load.test.ts', `import './absent.ts'; test('a', () => {});`);
  file('empty.test.ts', '');
  file('leaves.test.ts', `test('a', () => { process.exit(0); });`);
  file('late.test.ts', `test('a', () => { setTimeout(() => Promise.reject(new Error('late')), 20); });`);
  const { status, stdout, last } = run('test/load', 'test/empty', 'test/leaves', 'test/late');
  assert.equal(last, '1 passed, 4 failed');
  assert.equal(status, 1);
  assert.match(stdout, /ERR_MODULE_NOT_FOUND/);
});

test('a hanging file is killed with its children, and the running test is named', () => {
  const child = 'setInterval(() => {}, 1000)';
  file(
    'hang.test.ts',
    `import { spawn } from 'node:child_process';
     process.on('SIGTERM', () => {});
     test('waits for ever', async () => {
       const child = spawn(process.execPath, ['-e', '${child}'], { stdio: 'inherit' });
       console.log('child', child.pid);
       await new Promise(() => { setInterval(() => {}, 1000); });
     });`,
  );
  const { status, stdout, last } = run('--timeout', '2', 'test/hang');
  assert.equal(last, '0 passed, 1 failed');
  assert.equal(status, 1);
  assert.match(stdout, /did not end within 2 s and was killed during "waits for ever"/);
  const pid = Number(/child (\d+)/.exec(stdout)?.[1]);
  assert.equal(stateOf(pid), 'gone');
});

/**
 * Returns the state of a process, or `gone` if it has ended. A zombie has ended too: it stays in the process list until
 * its parent waits for it.
 */
function stateOf(pid: number): string {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' });
  const state = stdout.trim();
  return state === '' || state.startsWith('Z') ? 'gone' : state;
}

test('slow tests run only on request', () => {
  file('some.slow.test.ts', `test('a', () => {}); test('b', () => {});`);
  assert.equal(run('test/some').status, 1);
  assert.equal(run('--slow').last, '2 passed, 0 failed');
  assert.equal(run('--full', 'test/some').last, '2 passed, 0 failed');
  assert.equal(run('test/some.slow.test.ts').last, '2 passed, 0 failed');
});

test('a filter that matches nothing is an error, so a typo cannot pass', () => {
  const { status, stderr } = run('test/nowhere');
  assert.equal(status, 1);
  assert.match(stderr, /No test file matches test\/nowhere/);
});
