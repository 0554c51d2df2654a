import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { findLauncher, programName } from '../../src/app/install/launcher.ts';
import { asTyped } from '../../src/interfaces/cli/as-typed.ts';
import { ROOT as ROOT_GROUP } from '../../src/interfaces/cli/commands.ts';
import { ScratchFolder } from '../projects/scratch-folder.ts';
import { shell } from './program.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const RELAY = join(ROOT, 'relay');

/** Runs a printed command in a shell that has no `relay` on its PATH, as for a user with only a clone. */
const type = (folder: ScratchFolder, line: string, stdin = '') =>
  shell(line, { home: folder.home, cwd: folder.path, stdin, env: { HOME: folder.home, RELAY_COMMAND: '' } });

/** Returns the rest of the line after these words, which is the printed command. */
function printed(text: string, label: string): string {
  const labelLine = text.split('\n').find((line) => line.includes(label));
  assert.ok(labelLine, `${label} in ${text}`);
  return labelLine.slice(labelLine.indexOf(label) + label.length).trim();
}

test('commands that are printed in a clone can be typed unchanged', async () => {
  using folder = new ScratchFolder();
  folder.git('init', '-q');
  const typed = async (line: string) => {
    assert.ok(line.startsWith(RELAY), line);
    const ran = await type(folder, line);
    assert.equal(ran.code, 0, `${line}: ${ran.stderr}`);
    return ran;
  };
  const lost = await type(folder, `${RELAY} todo list`);
  const result = await typed(printed(lost.stderr, 'Create them with: '));
  const brief = await typed(printed(result.stdout, 'start each session with: '));
  await typed(printed(brief.stdout, 'Before you end: '));
  const hook = await type(folder, `${RELAY} hook claude session-start`, '{}');
  const { additionalContext } = JSON.parse(hook.stdout).hookSpecificOutput;
  await typed(printed(additionalContext, 'Before you end: '));
  const follows = await typed(`${RELAY} follow news --as claude`);
  await typed(printed(follows.stdout, 'read with: '));
  await typed(`${RELAY} publish news hello`);
  const news = await type(folder, `${RELAY} hook claude prompt-submit`, '{}');
  await typed(printed(JSON.parse(news.stdout).hookSpecificOutput.additionalContext, 'Read them with: '));
  const child = await typed(`${RELAY} project handoff "Look" --expect "a list"`);
  await typed(/Run there: (.*)\. When done/.exec(child.stdout)![1]!);
  await typed(printed(child.stdout, 'When done, run: '));
  const help = await type(folder, `${RELAY} project --help`);
  assert.ok(help.stdout.includes(`${RELAY} project <command>`));
  const install = await type(folder, `${RELAY} install codex`);
  await typed(printed(install.stdout, 'without asking: '));
});

const typed = (text: string) => asTyped(text, './relay', Object.keys(ROOT_GROUP.commands));

test('foreign text and sentences about a relay are not rewritten', () => {
  assert.equal(typed('See relay runs, or (relay state get).'), 'See ./relay runs, or (./relay state get).');
  for (const text of [
    'Is the relay up?',
    'a relay down the road',
    '/opt/relay push',
    'relays push',
    'relay data',
  ])
    assert.equal(typed(text), text);
});

test('a relative program name is used only in the folder where it works', () => {
  const env = { PATH: '/nowhere', RELAY_COMMAND: './relay' };
  assert.equal(programName(env, 'here', ROOT), './relay');
  assert.notEqual(programName(env, 'here', '/'), './relay');
  assert.notEqual(programName(env, 'anywhere', ROOT), './relay');
});

test('settings start relay by name, or by npx --no-install in a project that has it, without a path of this machine', () => {
  using folder = new ScratchFolder();
  const packageFolder = join(folder.path, 'node_modules', 'contextrelay');
  mkdirSync(join(packageFolder, 'dist'), { recursive: true });
  mkdirSync(join(folder.path, 'node_modules', '.bin'));
  writeFileSync(join(packageFolder, 'package.json'), '{"name":"contextrelay","version":"1.0.0"}');
  const script = join(packageFolder, 'dist', 'relay.js');
  writeFileSync(script, '', { mode: 0o755 });
  const bin = join(folder.path, 'node_modules', '.bin', 'relay');
  symlinkSync(script, bin);
  const npx = { command: 'npx', args: ['--no-install', 'contextrelay'], portable: true };
  const inNpm = { PATH: join(folder.path, 'node_modules', '.bin'), npm_command: 'exec' };
  assert.deepEqual(
    findLauncher(inNpm, 'here', bin, folder.path),
    npx,
    'npm takes its folders off the PATH again',
  );
  assert.deepEqual(findLauncher({ PATH: '/nowhere' }, 'here', bin, join(folder.path)), npx);
  const everywhere = findLauncher({ PATH: '/nowhere' }, 'anywhere', bin, folder.path);
  assert.deepEqual(everywhere.args, [script], 'settings of the user are read in other folders too');
  assert.equal(findLauncher({ PATH: '/nowhere' }, 'here', bin, folder.home).portable, false);
  assert.equal(findLauncher({ PATH: inNpm.PATH }, 'here', bin, folder.home).command, 'relay');
});
