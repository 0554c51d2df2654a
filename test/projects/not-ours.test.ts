import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ENTRY } from '../cli/program.ts';
import { ScratchFolder } from './scratch-folder.ts';

const OTHERS = '{"version": 3, "phase": "running", "last_update": "2026-01-01T00:00:00Z"}\n';

test('a state.json of another program next to a PROJECT.md is never changed', async () => {
  using folder = new ScratchFolder();
  folder.write('PROJECT.md', '# Another tool\n\nText.\n');
  folder.write('state.json', OTHERS);
  folder.git('init', '-q');
  for (const client of ['claude', 'gemini']) {
    for (const event of ['session-start', 'pre-compact', 'stop']) {
      const stdin = JSON.stringify({ cwd: folder.path, session_id: 's', trigger: 'manual' });
      const ran = await folder.relay(['hook', client, event], { stdin });
      assert.equal(ran.code, 0, ran.stderr);
      assert.doesNotMatch(ran.stdout, /running/);
    }
  }
  const synced = await folder.relay(['project', 'sync', '--done', 'x']);
  assert.equal(synced.code, 1);
  assert.match(synced.stderr, /state\.json cannot be used: it seems to belong to another program/);
  assert.equal(folder.read('state.json'), OTHERS);
});

test('the pre-compact hook of Gemini, which runs at every prompt, rewrites nothing', async () => {
  using folder = new ScratchFolder();
  await folder.relay(['project', 'init']);
  const before = folder.read('state.json');
  for (const name of ['a', 'b']) {
    folder.write(name, 'x');
    const stdin = JSON.stringify({ cwd: folder.path, session_id: 's', trigger: 'auto' });
    assert.equal((await folder.relay(['hook', 'gemini', 'pre-compact'], { stdin })).code, 0);
    assert.equal(folder.read('state.json'), before);
  }
});

test('a file that is too large is reported as too large, and not as missing', async () => {
  using folder = new ScratchFolder();
  await folder.relay(['project', 'init']);
  folder.write('todos.json', `{"todos":["${'x'.repeat(60_000_000)}"]}`);
  const added = await folder.relay(['todo', 'add', 'y']);
  assert.equal(added.code, 4);
  assert.match(added.stderr, /todos\.json/);
  const checked = await folder.relay(['project', 'check']);
  assert.equal(checked.code, 1);
  assert.doesNotMatch(checked.stdout, /missing/);
});

test('a read-only folder is reported as read-only, and nothing is left in it', async (t) => {
  // root may write everywhere, so the program runs as another user.
  const as = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};
  const reads = `require('node:fs').accessSync(${JSON.stringify(ENTRY)})`;
  if (spawnSync(process.execPath, ['-e', reads], as).status !== 0)
    return t.skip('only root reads this checkout');
  using folder = new ScratchFolder();
  await folder.relay(['project', 'init']);
  const home = join(folder.root, 'other-home');
  mkdirSync(home);
  chmodSync(home, 0o777);
  const closed = [join(folder.path, '.relay'), folder.path, folder.root];
  for (const path of closed) chmodSync(path, 0o555);
  const before = statSync(join(folder.path, 'todos.json')).mtimeMs;
  const ran = spawnSync(process.execPath, [ENTRY, 'todo', 'add', 'y'], {
    cwd: folder.path,
    env: { PATH: process.env.PATH, HOME: home, RELAY_HOME: home },
    encoding: 'utf8',
    ...as,
  });
  for (const path of closed.reverse()) chmodSync(path, 0o755);
  assert.equal(ran.status, 1, ran.stderr);
  assert.match(ran.stderr, /cannot be written: permission denied/);
  assert.equal(statSync(join(folder.path, 'todos.json')).mtimeMs, before);
});
