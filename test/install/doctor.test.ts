import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { ScratchFolder } from '../projects/scratch-folder.ts';

interface Check {
  readonly name: string;
  readonly state: string;
  readonly found: string;
  readonly fix?: string;
}

async function doctor(folder: ScratchFolder): Promise<Check[]> {
  const { checks } = JSON.parse((await folder.relay(['doctor', '--json'])).stdout) as { checks: Check[] };
  return checks.filter(({ name }) => /^(?:claude|codex|gemini|opencode|cursor)/.test(name));
}

test('doctor fires each installed hook, looks for its effect, starts the server and reads the trust', async () => {
  using folder = new ScratchFolder();
  assert.deepEqual(await doctor(folder), [], 'nothing installed, nothing said');
  await folder.relay(['install', 'claude', 'codex', 'gemini']);
  const checks = await doctor(folder);
  const of = (pattern: RegExp) => checks.filter(({ name }) => pattern.test(name));
  assert.equal(of(/hook/).length, 12);
  for (const check of of(/hook/)) assert.equal(check.state, 'ok', `${check.name}: ${check.found}`);
  for (const check of of(/MCP/)) assert.match(check.found, /^started, has \d+ tools: .*push_context/);
  const codex = of(/codex.*trust/);
  assert.equal(codex.length, 5, 'the folder and four hooks');
  for (const check of codex) {
    assert.equal(check.state, 'warning');
    assert.match(check.fix!, /start codex/);
  }
  const { stdout } = await folder.relay(['doctor']);
  assert.match(stdout, /\nNothing is wrong, but \d+ warnings above need you\.\n$/);
});

test('doctor says what is wrong with a hook or a file, and what to type', async () => {
  using folder = new ScratchFolder();
  await folder.relay(['install', 'claude', 'gemini']);
  const settings = folder.read('.claude/settings.json');
  folder.write(
    '.claude/settings.json',
    settings.replace(/"[^"]*relay hook claude stop"/, '"/nowhere/relay hook claude stop"'),
  );
  folder.write('.gemini/settings.json', '{ broken');
  folder.write(
    '.mcp.json',
    folder.read('.mcp.json').replace(/"command": ".*"/, '"command": "/nowhere/relay"'),
  );
  const checks = await doctor(folder);
  const find = (name: string) => checks.find((check) => check.name === name)!;
  assert.match(find('claude, in this folder: hook Stop').found, /it ended with 127/);
  assert.equal(find('claude, in this folder: hook Stop').fix, 'relay install claude');
  assert.equal(find('claude, in this folder: hook SessionStart').state, 'ok');
  assert.match(find('claude, in this folder: files').found, /settings\.json/);
  assert.match(find('claude, in this folder: MCP').found, /ENOENT/);
  assert.match(
    find('gemini, in this folder').found,
    new RegExp(`${join(folder.path, '.gemini/settings.json')} cannot be used: .*line 1`),
  );
});
