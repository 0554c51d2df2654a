import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dashboardProjects } from '../../src/app/projects/dashboard-projects.ts';
import { runHere } from '../cli/in-process.ts';
import { ScratchFolder } from './scratch-folder.ts';

/** The secrets are assembled at run time, so that no scanner reports this file as a leak. */
const TOKEN = `ghp_${'a1B2c3D4'.repeat(5)}`;
const PASSWORD = 'hunter2hunter9!';
const BODY = 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASC';
const PRIVATE_KEY = `-----BEGIN ${'PRIVATE KEY'}-----\n${BODY}\n-----END ${'PRIVATE KEY'}-----`;
const SECRETS = [TOKEN, PASSWORD, BODY];

const run = (folder: ScratchFolder, ...args: string[]) =>
  runHere(args, { home: folder.home, cwd: folder.path, stdin: JSON.stringify({ cwd: folder.path }) });

const WARNING = /warning this text may contain a secret \(([^)]+)\), and project files are usually committed/;

function assertNoSecrets(text: string): void {
  for (const secret of SECRETS) assert.ok(!text.includes(secret), text);
}

async function leakyProject(): Promise<ScratchFolder> {
  const folder = new ScratchFolder();
  folder.git('init', '-q');
  await run(folder, 'project', 'init');
  const sync = ['project', 'sync', '--task', 'Move the proxy', '--note', `the proxy takes ${TOKEN} for now`];
  const { code, stderr } = await run(folder, ...sync, '--next', `log in with password=${PASSWORD}`);
  assert.equal(code, 0, stderr);
  assert.equal(WARNING.exec(stderr)?.[1], 'GitHub token, password or key');
  assertNoSecrets(stderr);
  return folder;
}

test('sync stores a note with a secret and warns; every brief masks the secret and says so', async () => {
  using folder = await leakyProject();
  assert.ok(folder.read('state.json').includes(TOKEN), 'what was said is kept');
  folder.write(
    'todos.json',
    folder
      .read('todos.json')
      .replace(
        '"todos": []',
        `"todos": [${JSON.stringify({ id: 'TODO-001', title: `Rotate ${TOKEN}`, status: 'pending', notes: PRIVATE_KEY })}]`,
      ),
  );
  folder.write(
    'decisions.md',
    `${folder.read('decisions.md')}\n## ADR-001: Use ${TOKEN}\n- Date: 2026-01-01\n- Status: Accepted\n- Decision: with password=${PASSWORD}\n`,
  );
  folder.git('add', '.');
  folder.git('commit', '-qm', `use ${TOKEN}`);
  for (const command of [
    ['project', 'start'],
    ['project', 'start', '--json'],
    ['project', 'start', '--for', 'the proxy'],
    ['hook', 'claude', 'session-start'],
    ['handoff', '--to', 'codex'],
    ['handoff', '--to', 'codex', '--json'],
  ]) {
    const { stdout, stderr } = await run(folder, ...command);
    assertNoSecrets(stdout + stderr);
    assert.match(stdout, /Rotate \[redacted\]/, command.join(' '));
    assert.match(stdout, /Possible secrets were masked: /, command.join(' '));
  }
  const [project] = await dashboardProjects([folder.path]).list();
  assertNoSecrets(JSON.stringify(await dashboardProjects([folder.path]).get(project!.id)));
});

test('a secret that is split by invisible characters is also masked', async () => {
  using folder = new ScratchFolder();
  await run(folder, 'project', 'init');
  await run(folder, 'project', 'sync', '--note', `${TOKEN.slice(0, 9)}\u200b${TOKEN.slice(9)}`);
  assertNoSecrets((await run(folder, 'project', 'start')).stdout);
});

test('sync --commit does not commit text that looks like a secret', async () => {
  using folder = await leakyProject();
  const { code, stdout, stderr } = await run(
    folder,
    'project',
    'sync',
    '--note',
    `takes ${TOKEN}`,
    '--commit',
  );
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^not committed$/m);
  assert.match(stderr, WARNING);
  assert.throws(() => folder.git('rev-parse', '--verify', '-q', 'HEAD'));
});

test('every command that writes a project file warns about a secret', async () => {
  using folder = new ScratchFolder();
  await run(folder, 'project', 'init');
  for (const command of [
    ['todo', 'add', `Rotate ${TOKEN}`],
    ['todo', 'block', 'TODO-001', '--reason', `waits for ${TOKEN}`],
    ['decide', 'x', '--context', 'c', '--decision', `use ${TOKEN}`, '--consequences', 'e'],
    ['project', 'handoff', `Log in with ${TOKEN}`, '--expect', 'y'],
    ['project', 'report', '--result', `it was ${TOKEN}`],
  ]) {
    const { code, stderr } = await run(folder, ...command);
    assert.equal(code, 0, stderr);
    assert.equal(WARNING.exec(stderr)?.[1], 'GitHub token', command.join(' '));
  }
  for (const command of [
    ['todo', 'list'],
    ['project', 'sync', '--note', 'set API_KEY=<your key> first'],
  ])
    assert.doesNotMatch((await run(folder, ...command)).stderr, WARNING);
});

test('a sub-agent gets the key of a pointer that it should read', async () => {
  using folder = new ScratchFolder();
  await run(folder, 'project', 'init');
  const url = 'https://r.example/pull/2#key=abcdefghijklmnopqrstuvwxyzabcdefghijklmnopq=';
  await run(folder, 'project', 'handoff', `Log in with ${TOKEN}`, '--expect', 'y', '--context', url);
  const { stdout } = await run(folder, 'project', 'start', '--for', 'HANDOFF-001');
  assert.ok(stdout.includes(url), stdout);
  assertNoSecrets(stdout);
});
