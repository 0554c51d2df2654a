import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { claudePrefix } from '../../src/app/install/claude-prefix.ts';
import { hookLine } from '../../src/app/install/launcher.ts';
import { opencodeTeePlugin } from '../../src/app/install/opencode-plugin.ts';

const folder = mkdtempSync(join(tmpdir(), 'relay-prefix-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a shell line as Claude Code does, with the script `relay` as our program. Returns the output for the model. */
function run(line: string, relay: string, isTool = true): { output: string; status: number | null } {
  const program = join(folder, 'relay');
  rmSync(program, { force: true });
  if (relay !== '') writeFileSync(program, `#!/bin/sh\n${relay}\n`, { mode: 0o755 });
  const script = join(folder, 'prefix');
  writeFileSync(script, claudePrefix({ command: program, args: [], portable: false }, 1));
  chmodSync(script, 0o755);
  mkdirSync(join(folder, 'tasks'), { recursive: true });
  const path = join(folder, 'tasks', 'b1.output');
  rmSync(path, { force: true });
  const file = openSync(path, 'a');
  const snapshot = join(folder, 'shell-snapshots/snapshot-bash-1.sh');
  const whole = isTool
    ? `source ${snapshot} 2>/dev/null || true && eval '${line}' < /dev/null && pwd -P >| ${join(folder, 'cwd')}`
    : line;
  const { status } = spawnSync(script, [whole], { stdio: ['ignore', file, file], cwd: folder });
  return { output: readFileSync(path, 'utf8'), status };
}

const LONG = 'seq 1 3000; exit 3';
const WHOLE = execFileSync('seq', ['1', '3000'], { encoding: 'utf8' });

test('a long output is replaced by what relay prints, and the exit code stays', () => {
  const { output, status } = run(LONG, 'echo "excerpt: $*"; cat >/dev/null');
  assert.equal(output, `excerpt: tee --name ${LONG} --exit 3\n`);
  assert.equal(status, 3);
});

/** Shell scripts that replace relay. The empty one means a missing program; three are broken, and one is too slow. */
const BAD_RELAYS = ['', 'echo garbage; exit 1', 'exec 0<&-; kill -9 $$', 'true', 'exec sleep 600'];

test('a missing, broken or slow relay changes nothing', () => {
  for (const relay of BAD_RELAYS) assert.deepEqual(run(LONG, relay), { output: WHOLE, status: 3 });
});

test('a short output does not start relay', () => {
  const { output } = run('echo short; cd /', 'echo wrong');
  assert.equal(output, 'short\n');
  assert.equal(readFileSync(join(folder, 'cwd'), 'utf8'), '/\n');
});

test('a redirected output and the output of a background process are left alone', () => {
  const line = 'seq 1 3000 >whole.txt; (seq 1 3000 >later.txt) & wait';
  assert.deepEqual(run(line, 'echo wrong'), { output: '', status: 0 });
  for (const name of ['whole.txt', 'later.txt'])
    assert.equal(readFileSync(join(folder, name), 'utf8'), WHOLE);
});

test('hooks and MCP servers pass unchanged', () => {
  assert.deepEqual(run(LONG, 'echo wrong', false), { output: WHOLE, status: 3 });
});

test('a missing or broken relay does not change a result of OpenCode', async () => {
  for (const [i, relay] of BAD_RELAYS.slice(0, -1).entries()) {
    const program = join(folder, `relay-${i}`);
    if (relay !== '') writeFileSync(program, `#!/bin/sh\n${relay}\n`, { mode: 0o755 });
    const file = join(folder, `plugin-${i}.mjs`);
    writeFileSync(file, opencodeTeePlugin({ command: program, args: [] }));
    const hooks = await (await import(file)).ContextRelayTee();
    const result = { output: WHOLE, metadata: { exit: 3 } };
    await hooks['tool.execute.after']({ tool: 'bash', args: { command: LONG } }, result);
    assert.equal(result.output, WHOLE);
  }
});

test('a missing relay does not block a tool of Gemini CLI', () => {
  const line = hookLine({ command: join(folder, 'nothing'), args: [] }, ['tee', 'hook', 'gemini'], 'linux');
  const { status, stdout, stderr } = spawnSync('sh', ['-c', line], { encoding: 'utf8' });
  assert.deepEqual([status, stdout, stderr], [0, '', '']);
});
