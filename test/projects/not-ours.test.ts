import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createProject, findProject, openProject } from '../../src/app/projects/project-files.ts';
import { coldStart } from '../../src/client/projects/cold-start.ts';
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

test('with a state.json of another program, the project files live in .relay and everything finds them', async () => {
  using folder = new ScratchFolder();
  folder.git('init', '-q');
  folder.write('state.json', OTHERS);
  const result = await folder.relay(['project', 'init']);
  assert.equal(result.code, 0, result.stderr);
  assert.match(result.stdout, /wrote {2}\.relay\/state\.json/);
  assert.equal(folder.read('state.json'), OTHERS);
  const project = (await findProject(join(folder.path, '.git', '..')))!;
  await project.sync({ task: 'Boil', done: ['fill'], decisions: [NEW_DECISION] });
  folder.write('deep/x.ts', '');
  const stdin = JSON.stringify({ cwd: join(folder.path, 'deep'), session_id: 's', trigger: 'manual' });
  const brief = (await folder.relay(['hook', 'claude', 'session-start'], { stdin })).stdout;
  assert.match(brief, /## State \(\.relay\/state\.json, synced just now\)\\n- Task: Boil/);
  assert.match(
    brief,
    /! state\.json in the project folder belongs to another program\. The project files are in \.relay\/\./,
  );
  assert.doesNotMatch(brief, /running/);
  assert.equal((await folder.relay(['hook', 'claude', 'pre-compact'], { stdin })).code, 0);
  assert.match(folder.read('.relay/state.json'), /"checkpoint"/);

  // git tracks only the project files in .relay.
  assert.ok(await project.commit('sync'));
  assert.deepEqual(folder.git('ls-files').trim().split('\n'), [
    '.relay/PROJECT.md',
    '.relay/decisions.md',
    '.relay/state.json',
    '.relay/todos.json',
  ]);
  folder.write('.relay/decisions.md', folder.read('.relay/decisions.md').replace('slowly', 'fast'));
  assert.match(JSON.stringify(await project.check()), /history was rewritten/);
  assert.equal(folder.read('state.json'), OTHERS);
  const status = await project.git.status();
  assert.deepEqual(
    status.inFlight.map(({ path }) => path),
    ['deep/', 'state.json'],
  );
});

const NEW_DECISION = { title: 'Boil slowly', context: 'gas', decision: 'slowly', consequences: 'late tea' };

test('one setting names another folder for the project files, and init creates the folder of the project', async () => {
  using folder = new ScratchFolder();
  const result = await folder.relay(['project', 'init', 'new/shop', '--files', 'docs/relay']);
  assert.equal(result.code, 0, result.stderr);
  assert.deepEqual(folder.json('new/shop/.relay/project.json'), { folder: 'docs/relay' });
  const project = (await findProject(join(folder.path, 'new/shop/docs')))!;
  await project.sync({ task: 'Boil' });
  assert.equal(folder.json('new/shop/docs/relay/state.json').current_task, 'Boil');
  assert.ok(!folder.has('new/shop/state.json'));
  for (const bad of ['../out', '/tmp/out', '.', 'a/../../out', 'C:\\x']) {
    const refused = await createProject(join(folder.path, 'other'), { files: bad }).catch((error) => error);
    assert.match(refused.message, /is not a subfolder of the project/, bad);
  }
  folder.write('new/shop/.relay/project.json', '{"folder": "../../elsewhere"}');
  const broken = await folder.relay(['project', 'start'], { cwd: join(folder.path, 'new/shop') });
  assert.match(broken.stderr, /\.relay\/project\.json cannot be used/);
});

test('files of ours next to a foreign state.json are copied into .relay', async () => {
  using folder = new ScratchFolder();
  folder.write('PROJECT.md', '# Shop\n\nSells tea.\n');
  folder.write('state.json', OTHERS);
  const before = (await coldStart(openProject(folder.path), null)).draft;
  assert.match(
    before.warnings.join(),
    /state\.json .* belongs to another program\. To put .*: relay project init/,
  );
  await (await createProject(folder.path, {})).init();
  assert.equal(folder.read('.relay/PROJECT.md'), '# Shop\n\nSells tea.\n');
  const { draft } = await coldStart(openProject(folder.path), null);
  assert.equal(draft.title, 'Project brief: Shop');
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
