import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { runInstall } from '../../src/app/install/installer.ts';
import { isRelayError } from '../../src/base/errors.ts';
import { runHere } from '../cli/in-process.ts';
import { ScratchFolder } from '../projects/scratch-folder.ts';

const SECRET = 'canary-of-somebody-else';
const PROJECT_FILES = ['PROJECT.md', 'state.json', 'todos.json', 'decisions.md'] as const;
const TEXTS: { readonly [name: string]: string } = {
  'PROJECT.md': `# ${SECRET}\n\n## Constraints\n\n- ${SECRET}\n`,
  'state.json': `{"last_update": null, "current_task": "${SECRET}", "progress": {"in_progress": "${SECRET}"}}\n`,
  'todos.json': `{"todos": [{"id": "TODO-001", "title": "${SECRET}", "status": "pending"}]}\n`,
  'decisions.md': `# Decisions\n\n## ADR-001: ${SECRET}\n- Date: 2026-01-01\n- Status: Accepted\n- Decision: ${SECRET}\n`,
};

/** All commands that read or write project files. */
const COMMANDS: readonly (readonly string[])[] = [
  ['project', 'start'],
  ['project', 'check'],
  ['project', 'sync', '--done', 'x', '--todo', 'y'],
  ['project', 'init'],
  ['project', 'init', '--force'],
  ['todo', 'add', 'x'],
  ['todo', 'list'],
  ['decide', 'x', '--context', 'c', '--decision', 'd', '--consequences', 'e'],
  ['project', 'handoff', 'x', '--expect', 'y'],
  ['handoff', '--to', 'codex'],
  ['hook', 'claude', 'session-start'],
  ['hook', 'claude', 'pre-compact'],
  ['hook', 'claude', 'stop'],
];

const run = (folder: ScratchFolder, args: readonly string[]) =>
  runHere(args, { home: folder.home, cwd: folder.path, stdin: '{}' });

/** A project, and next to it a folder outside of the project. */
async function project(): Promise<ScratchFolder & { outside: string }> {
  const folder = Object.assign(new ScratchFolder(), { outside: '' });
  folder.outside = join(folder.root, 'outside');
  mkdirSync(folder.outside);
  assert.equal((await run(folder, ['project', 'init'])).code, 0);
  return folder;
}

/** Replaces a path with a symlink. */
function link(folder: ScratchFolder, name: string, target: string): void {
  rmSync(join(folder.path, name), { recursive: true, force: true });
  mkdirSync(dirname(join(folder.path, name)), { recursive: true });
  symlinkSync(target, join(folder.path, name));
}

for (const name of PROJECT_FILES) {
  test(`${name} that is a symlink out of the project is neither read nor written`, async () => {
    using folder = await project();
    const real = join(folder.outside, 'theirs');
    writeFileSync(real, TEXTS[name]!);
    link(folder, name, '../outside/theirs');
    let reportedLinks = 0;
    for (const command of COMMANDS) {
      const ran = await run(folder, command);
      const output = ran.stdout + ran.stderr;
      assert.ok(!output.includes(SECRET), `${command.join(' ')}: ${output}`);
      if (output.includes(`${name} is a symbolic link`) && output.includes(real)) reportedLinks++;
    }
    assert.ok(reportedLinks >= 5, `${reportedLinks} commands named the link and where it leads`);
    assert.equal(readFileSync(real, 'utf8'), TEXTS[name]);
    assert.deepEqual(readdirSync(folder.outside), ['theirs']);
  });
}

test('a symlink to a missing file does not create it', async () => {
  using folder = await project();
  for (const name of PROJECT_FILES) link(folder, name, `../outside/${name}`);
  for (const command of COMMANDS) await run(folder, command);
  assert.deepEqual(readdirSync(folder.outside), []);
  const refused = await run(folder, ['project', 'init']);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /PROJECT\.md is a symbolic link to .*outside\/PROJECT\.md, which is outside/);
  assert.match(refused.stderr, /--follow-links/);
});

test('symlinks at the local folder or in it do not lead out of the project', async () => {
  for (const name of ['.relay', '.relay/project.lock', '.relay/.gitignore', '.relay/reminded.json']) {
    using folder = await project();
    link(folder, name, name === '.relay' ? '../outside' : '../../outside/made');
    for (const command of COMMANDS) await run(folder, command);
    const ran = await run(folder, ['todo', 'add', 'x']);
    assert.deepEqual(readdirSync(folder.outside), [], name);
    if (name === '.relay/reminded.json') continue;
    assert.equal(ran.code, 1);
    assert.match(ran.stderr, /is a symbolic link to .*, which is outside/);
  }
});

test('a hand-off names no file that is a symlink out of the project', async () => {
  using folder = await project();
  writeFileSync(join(folder.outside, 'id_rsa'), SECRET);
  link(folder, 'docs', '../outside');
  for (const command of [
    ['handoff', '--to', 'codex', '--context', 'docs/id_rsa'],
    ['project', 'handoff', 'x', '--expect', 'y', '--context', 'docs/id_rsa'],
  ]) {
    const ran = await run(folder, command);
    assert.equal(ran.code, 1, ran.stdout);
    assert.match(ran.stderr, /docs is a symbolic link to .*outside\/id_rsa, which is outside/);
    const result = await run(folder, [...command.slice(0, -1), join(folder.outside, 'id_rsa')]);
    assert.equal(result.code, 0, 'a path that was given by itself is meant');
  }
  const url = await run(folder, ['handoff', '--to', 'codex', '--context', 'https://relay.example/pull/x']);
  assert.equal(url.code, 0, url.stderr);
});

test('symlinks within the project work, and symlinks out of it work on request', async () => {
  using folder = await project();
  mkdirSync(join(folder.path, 'kept'));
  writeFileSync(join(folder.path, 'kept', 'todos.json'), TEXTS['todos.json']!);
  link(folder, 'todos.json', 'kept/todos.json');
  assert.equal((await run(folder, ['todo', 'add', 'second'])).code, 0);
  assert.equal(folder.json('kept/todos.json').todos.length, 2);

  writeFileSync(join(folder.outside, 'todos.json'), TEXTS['todos.json']!);
  link(folder, 'todos.json', '../outside/todos.json');
  assert.equal((await run(folder, ['todo', 'add', 'second', '--follow-links'])).code, 0);
  assert.equal(JSON.parse(readFileSync(join(folder.outside, 'todos.json'), 'utf8')).todos.length, 2);

  const alias = join(folder.root, 'alias');
  symlinkSync(folder.path, alias);
  const ran = await run(folder, ['todo', 'add', 'third', '--dir', alias, '--follow-links']);
  assert.equal(ran.code, 0, ran.stderr);
});

const SETTINGS = {
  claude: [
    '.claude',
    '.claude/settings.json',
    '.claude/skills',
    '.claude/skills/context-relay/SKILL.md',
    '.mcp.json',
  ],
  codex: ['.codex/config.toml', '.codex/hooks.json', '.agents/skills/context-relay/references'],
  gemini: ['.gemini/settings.json'],
  opencode: ['opencode.json'],
  cursor: ['.cursor'],
  vscode: ['.vscode/mcp.json'],
};

const skill = new Map([
  ['SKILL.md', '---\nname: context-relay\nmetadata:\n  source: contextrelay\n---\n'],
  ['references/todos.md', 'todos\n'],
]);

function settings(folder: ScratchFolder) {
  const places = { project: folder.path, home: folder.home, env: {}, platform: process.platform };
  const launcher = () => ({ command: 'relay', args: [], portable: true });
  return { places, launcher, relayHome: join(folder.root, 'relay-home'), skill };
}

for (const [client, names] of Object.entries(SETTINGS) as [keyof typeof SETTINGS, string[]][]) {
  test(`installing ${client} into a project follows no symlink out of it`, async () => {
    for (const name of names) {
      using folder = new ScratchFolder();
      const outside = join(folder.root, 'outside');
      mkdirSync(outside);
      link(folder, name, join(outside, /\.(?:json|toml|md)$/.test(name) ? 'theirs' : ''));
      for (const action of ['add', 'remove'] as const) {
        for (const dryRun of [true, false]) {
          await assert.rejects(
            runInstall({ client, scope: 'project', action, dryRun }, settings(folder)),
            (error) => {
              assert.ok(isRelayError(error, 'link_outside'), String(error));
              return (
                error.message.startsWith(`${name} is a symbolic link`) && error.message.includes(outside)
              );
            },
          );
        }
      }
      assert.deepEqual(readdirSync(outside), [], name);
      assert.ok(!existsSync(join(folder.root, 'relay-home')), 'nothing was written anywhere');
      await runInstall({ client, scope: 'project', action: 'add', followLinks: true }, settings(folder));
      assert.notDeepEqual(readdirSync(outside), []);
    }
  });
}

test('installing for the user follows a symlink out of the settings folder only on request', async () => {
  using folder = new ScratchFolder();
  const outside = join(folder.root, 'dotfiles');
  mkdirSync(join(outside, 'codex'), { recursive: true });
  writeFileSync(join(outside, 'settings.json'), '{}');
  mkdirSync(join(folder.home, '.claude'));
  symlinkSync('../../dotfiles/settings.json', join(folder.home, '.claude/settings.json'));
  const request = { client: 'claude', scope: 'user', action: 'add' } as const;
  await assert.rejects(runInstall(request, settings(folder)), /settings\.json is a symbolic link .*dotfiles/);
  assert.equal(readFileSync(join(outside, 'settings.json'), 'utf8'), '{}');
  await runInstall({ ...request, followLinks: true }, settings(folder));
  assert.match(readFileSync(join(outside, 'settings.json'), 'utf8'), /relay hook claude stop/);

  symlinkSync('../dotfiles/codex', join(folder.home, '.codex'));
  await runInstall({ ...request, client: 'codex' }, settings(folder));
  assert.ok(
    existsSync(join(outside, 'codex', 'config.toml')),
    'the folder itself may be a link of its owner',
  );
});
