import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ScratchFolder } from '../projects/scratch-folder.ts';

/** Hooks as the previous version wrote them. */
const OLD_HOOKS = {
  claude: ['.claude/settings.json', ['SessionStart', 'UserPromptSubmit', 'PreCompact', 'Stop'], 10],
  codex: ['.codex/hooks.json', ['SessionStart', 'UserPromptSubmit', 'PreCompact', 'Stop'], 10],
  gemini: ['.gemini/settings.json', ['SessionStart', 'BeforeAgent', 'PreCompress', 'AfterAgent'], 10_000],
} as const;
const HOOK_WORDS = ['session-start', 'prompt-submit', 'pre-compact', 'stop'];

function writeOldHooks(folder: ScratchFolder, program: string): void {
  for (const [client, [file, events, timeout]] of Object.entries(OLD_HOOKS)) {
    const hooks = events.map((event, index) => {
      const command = `${program} hook ${client} ${HOOK_WORDS[index]}`;
      return [event, [{ hooks: [{ type: 'command', command, timeout }] }]];
    });
    folder.write(file, JSON.stringify({ hooks: Object.fromEntries(hooks) }, null, 2));
  }
}

for (const program of ['relay', '/opt/relay/bin/relay', 'npx --no-install contextrelay']) {
  test(`hooks of the previous version, as ${program}, are replaced by install and deleted by --remove`, async () => {
    using folder = new ScratchFolder();
    const env = { RELAY_HOME: join(folder.root, 'relay-home') };
    const clients = Object.keys(OLD_HOOKS);
    writeOldHooks(folder, program);
    assert.equal((await folder.relay(['install', ...clients, '--check'], { env })).code, 1);
    const ran = await folder.relay(['install', ...clients], { env });
    assert.equal(ran.code, 0, ran.stderr);
    assert.match(ran.stdout, /Codex runs none of them until you trust them again: start codex, type \/hooks/);
    for (const [client, [file, events]] of Object.entries(OLD_HOOKS)) {
      const { hooks } = folder.json(file);
      const before = client === 'gemini' ? 'BeforeTool' : 'PreToolUse';
      assert.deepEqual(Object.keys(hooks), [...events, before]);
      assert.equal(hooks.Stop?.length, client === 'claude' ? 2 : client === 'codex' ? 1 : undefined);
      for (const [index, event] of [...events, before].entries()) {
        const word = HOOK_WORDS[index] ?? 'pre-edit';
        const [group] = hooks[event];
        assert.equal(group.hooks.length, 1);
        const { command } = group.hooks[0];
        assert.match(command, new RegExp(`^unset BUN_BE_BUN; .*relay hook ${client} ${word} `));
        assert.ok(command.endsWith(' 2>/dev/null || exit 0'), command);
      }
    }
    const again = await folder.relay(['install', ...clients], { env });
    assert.ok(!again.stdout.includes('trust them again'), 'nothing changed this time');
    writeOldHooks(folder, program);
    assert.equal((await folder.relay(['install', ...clients, '--remove'], { env })).code, 0);
    for (const [file] of Object.values(OLD_HOOKS))
      if (folder.has(file)) assert.ok(!folder.read(file).includes('hook'), file);
  });
}

test('a hook whose program is missing prints nothing and exits with 0, in every shell', async () => {
  using folder = new ScratchFolder();
  folder.write('bin/relay', '#!/nowhere/node\n');
  chmodSync(join(folder.path, 'bin/relay'), 0o755);
  await folder.relay(['install', 'gemini'], { env: { RELAY_HOME: join(folder.root, 'relay-home') } });
  const { command } = folder.json('.gemini/settings.json').hooks.AfterAgent[0].hooks[0];
  const lines = ['/nowhere/relay', 'relay', join(folder.path, 'bin/relay')].map((program) =>
    command.replace(/(?<=; ).*?(?= hook)/, program),
  );
  for (const shell of ['sh', 'bash', 'dash', 'zsh', 'fish']) {
    for (const line of lines) {
      const { status, stdout, stderr, error } = spawnSync(shell, ['-c', line], {
        encoding: 'utf8',
        input: '{}',
      });
      if ((error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT') continue;
      // fish has no `unset`, so it prints an error on stderr. stdout must be empty in every shell.
      assert.deepEqual([status, stdout], [0, ''], `${shell}: ${line}`);
      if (shell !== 'fish') assert.equal(stderr, '', `${shell}: ${line}`);
    }
  }
  // BUN_BE_BUN=1 would turn an executable compiled by Bun into Bun itself.
  folder.write('bin/relay', '#!/bin/sh\nenv | grep -c BUN_BE_BUN\n');
  const o = { encoding: 'utf8', env: { ...process.env, BUN_BE_BUN: '1' } } as const;
  assert.equal(spawnSync('sh', ['-c', lines[2]!], o).stdout, '0\n');
});

test('the line of the background hook wakes only for messages of relay', async () => {
  using folder = new ScratchFolder();
  await folder.relay(['install', 'claude'], { env: { RELAY_HOME: join(folder.root, 'relay-home') } });
  const [, { hooks }] = folder.json('.claude/settings.json').hooks.Stop;
  const [{ command, asyncRewake }] = hooks;
  assert.equal(asyncRewake, true);
  folder.write('bin/relay', '');
  chmodSync(join(folder.path, 'bin/relay'), 0o755);
  /** Runs the hook line with a fake relay that prints to both streams and exits with `code`. */
  const ran = (code: number) => {
    folder.write('bin/relay', `#!/bin/sh\necho text\necho noise >&2\nexit ${code}\n`);
    const line = command.replace(/(?<=; ).*?(?= hook)/, join(folder.path, 'bin/relay'));
    const { status, stdout, stderr } = spawnSync('sh', ['-c', line], { encoding: 'utf8', input: '{}' });
    return [status, stdout, stderr];
  };
  assert.deepEqual(ran(42), [2, '', 'text\n']);
  for (const code of [0, 1, 2, 127]) assert.equal(ran(code)[0], 0, `a program that ends with ${code}`);
  const missing = command.replace(/(?<=; ).*?(?= hook)/, '/nowhere/relay');
  for (const shell of ['sh', 'bash', 'dash']) {
    const { status, stdout, stderr } = spawnSync(shell, ['-c', missing], { encoding: 'utf8', input: '{}' });
    if (status !== null) assert.deepEqual([status, stdout, stderr], [0, '', ''], shell);
  }
});
