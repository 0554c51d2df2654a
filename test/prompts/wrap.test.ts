import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { atTerminal, cleanEnv, ENTRY, NODE, relay, temporaryHome } from '../cli/program.ts';

/** Creates a program of this name on the PATH. */
function program(home: string, name: string, script: string): { PATH: string } {
  const bin = join(home, 'bin');
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, name), script);
  chmodSync(join(bin, name), 0o755);
  return { PATH: `${bin}:${process.env.PATH}` };
}

test('the output of a program passes byte for byte, with separate stderr and its exit code', async () => {
  using at = temporaryHome();
  const env = program(
    at.home,
    'odd',
    `#!/bin/sh\ncat >/dev/null\nprintf 'a\\000b\\377\\033[31mred'\necho complaint >&2\nexit 7\n`,
  );
  const o = { home: at.home, env };
  const { code, bytes, stderr } = await relay(['wrap', 'run', '--cli', 'odd', 'go on then'], o);
  assert.equal(code, 7);
  assert.deepEqual([...bytes], [...Buffer.from('a\0b\xff\x1b[31mred', 'latin1')]);
  assert.match(stderr, /^complaint$/m);
  assert.match(stderr, /answer [0-9a-f]{26}/);
});

test('the answer of a program is stored in the thread, and the next prompt contains it', async () => {
  using at = temporaryHome();
  const env = program(at.home, 'claude', '#!/bin/sh\ncat > seen.txt\necho "it is 42"\n');
  const o = { home: at.home, env };
  const first = await relay(['wrap', 'run', '--cli', 'claude', 'what is it?'], o);
  assert.equal(first.stdout, 'it is 42\n');
  await relay(['wrap', 'run', '--cli', 'claude', 'are you sure?'], o);
  const prompt = readFileSync(join(at.home, 'seen.txt'), 'utf8');
  assert.match(prompt, /it is 42/);
  assert.match(prompt, /> what is it\?\nit is 42\n/);
  assert.match(prompt, /Your task:\nare you sure\?$/);
});

test('a prompt is counted even if the program prints nothing', async () => {
  using at = temporaryHome();
  const o = { home: at.home, env: program(at.home, 'mute', '#!/bin/sh\ncat >/dev/null\n') };
  const { code, stderr } = await relay(['wrap', 'run', '--cli', 'mute', 'go on then'], o);
  assert.equal(code, 0);
  assert.match(stderr, /mute printed nothing/);
  const { prompts, recent_prompts } = JSON.parse((await relay(['stats', '--json'], o)).stdout);
  assert.equal(prompts.prompts, 1);
  assert.deepEqual([recent_prompts[0].kind, recent_prompts[0].by], ['handed_over', 'mute']);
});

test('a program that fails does not change the state', async () => {
  using at = temporaryHome();
  const patch = '```relay-patch\\n[{"op":"add","path":"/facts/-","value":{"key":"k","value":"v"}}]\\n```\\n';
  const talk = (code: number) => `#!/bin/sh\ncat >/dev/null\nprintf 'words\\n${patch}'\nexit ${code}\n`;
  for (const [code, facts, actions] of [
    [3, 0, 0],
    [0, 1, 1],
  ] as const) {
    const env = program(at.home, 'talk', talk(code));
    const o = { home: at.home, env };
    const ran = await relay(['wrap', 'run', '--cli', 'talk', '--new', 'go on'], o);
    assert.equal(ran.code, code, ran.stderr);
    const state = JSON.parse((await relay(['state', 'get', '--json'], o)).stdout);
    assert.deepEqual(
      [state.facts.length, state.last_actions.length, state.artifacts.length],
      [facts, actions, 1],
    );
    if (code !== 0) assert.match(ran.stderr, /exited with 3\. Its output is stored/);
  }
});

const SHOW = `#!/bin/sh
for arg in "$@"; do case "$arg" in *"Your task"*) echo "[prompt]";; *prompt-1.md) echo "[file $(tail -n1 "$arg")]";; *) echo "[$arg]";; esac; done
if [ ! -t 0 ]; then input=$(cat); case "$input" in *"Your task"*) echo "[stdin]";; esac; fi
`;

const PROFILES: readonly [string, string[], string[]][] = [
  ['claude', ['--model', 'x'], ['[-p]', '[--model]', '[x]', '[stdin]']],
  ['codex', ['--json'], ['[exec]', '[--skip-git-repo-check]', '[--json]', '[-]', '[stdin]']],
  ['gemini', [], ['[stdin]']],
  ['opencode', ['--agent', 'a'], ['[run]', '[--agent]', '[a]', '[prompt]']],
  ['aider', [], ['[--yes-always]', '[--no-pretty]', '[--message-file]', '[file go on]']],
  ['sgpt', [], ['[stdin]']],
  ['unheard-of', ['--deep'], ['[--deep]', '[stdin]']],
  ['unheard-of', ['--ask', '{prompt}', '--now'], ['[--ask]', '[prompt]', '[--now]']],
  ['unheard-of', ['--from', '{file}'], ['[--from]', '[file go on]']],
];

for (const [name, args, expected] of PROFILES) {
  test(`${name} ${args.join(' ')} gets the arguments that it expects`, async () => {
    using at = temporaryHome();
    const env = program(at.home, name, SHOW);
    const line = ['wrap', 'run', '--cli', name, 'go on', '--', ...args];
    const { stdout, stderr } = await relay(line, { home: at.home, env });
    assert.deepEqual(stdout.trim().split('\n'), expected, stderr);
  });
}

test('--prompt-by chooses how the program gets the prompt', async () => {
  using at = temporaryHome();
  const env = program(at.home, 'mine', SHOW);
  const by = async (way: string) =>
    (
      await relay(['wrap', 'run', '--cli', 'mine', '--prompt-by', way, 'go on'], { home: at.home, env })
    ).stdout.trim();
  assert.equal(await by('argument'), '[prompt]');
  assert.equal(await by('file'), '[file go on]');
  assert.equal(await by('stdin'), '[stdin]');
});

test('signals are forwarded to the program, and its exit ends the command', async () => {
  using at = temporaryHome();
  const env = program(
    at.home,
    'slow',
    `#!/bin/sh\ntrap 'echo caught; exit 9' TERM\necho ready\nwhile :; do sleep 0.05; done\n`,
  );
  const child = spawn(NODE, [ENTRY, 'wrap', 'run', '--cli', 'slow', 'wait for it'], {
    env: cleanEnv({ home: at.home, env }),
    cwd: at.home,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let out = '';
  child.stdout.on('data', (chunk) => {
    out += chunk;
    if (out === 'ready\n') child.kill('SIGTERM');
  });
  const code = await new Promise((resolve) => child.on('close', resolve));
  assert.equal(out, 'ready\ncaught\n');
  assert.equal(code, 9);
});

test('a program that is ended by a signal gives exit code 128 plus the signal number', async () => {
  using at = temporaryHome();
  const env = program(at.home, 'dies', '#!/bin/sh\necho some\nkill -KILL $$\n');
  const { code, stdout } = await relay(['wrap', 'run', '--cli', 'dies', 'go on'], { home: at.home, env });
  assert.equal(stdout, 'some\n');
  assert.equal(code, 137);
});

test('a missing program is reported, and nothing is stored', async () => {
  using at = temporaryHome();
  const { code, stderr } = await relay(['wrap', 'run', '--cli', 'nowhere', 'go on'], { home: at.home });
  assert.equal(code, 3);
  assert.match(stderr, /There is no program nowhere/);
});

test('without a prompt in a terminal, the program gets the terminal itself', async () => {
  using at = temporaryHome();
  const env = program(
    at.home,
    'talk',
    '#!/bin/sh\n[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo "all terminals, thread $(printenv RELAY_THREAD || echo unset)"\n',
  );
  const { stdout } = await atTerminal('$relay wrap run --cli talk', { home: at.home, env });
  assert.match(stdout, /all terminals, thread unset/);
});

test('with a prompt in a terminal, the program keeps stdin, and relay reads its output', async () => {
  using at = temporaryHome();
  const env = program(
    at.home,
    'talk',
    '#!/bin/sh\n[ -t 0 ] && ! [ -t 2 ] && ! [ -t 1 ] && echo "as before"\n',
  );
  const line = '$relay wrap run --cli talk --prompt-by argument "say something"';
  const { stdout } = await atTerminal(line, { home: at.home, env });
  assert.match(stdout, /as before/);
});

test('large output passes without buffering, and is stored up to the limit', async () => {
  using at = temporaryHome();
  const env = program(
    at.home,
    'flood',
    '#!/bin/sh\ncat >/dev/null\nhead -c 60000000 /dev/zero | tr "\\0" x\n',
  );
  const { code, bytes, stderr } = await relay(['wrap', 'run', '--cli', 'flood', 'go on'], {
    home: at.home,
    env,
  });
  assert.equal(code, 0);
  assert.equal(bytes.length, 60_000_000);
  assert.match(stderr, /could not be stored/);
  assert.ok(existsSync(at.home));
});
