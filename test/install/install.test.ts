import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { ScratchFolder } from '../projects/scratch-folder.ts';

const CLIENTS = ['claude', 'codex', 'gemini', 'opencode', 'openclaw', 'cursor', 'vscode'] as const;

/** Existing settings of a user, with unusual formatting that must not change. */
const OTHERS: { readonly [path: string]: string } = {
  '.claude/settings.json':
    '{\r\n\t"permissions": { "allow": ["Bash(ls)"] },\r\n\t"hooks": {\r\n\t\t"SessionStart": [\r\n\t\t\t{ "hooks": [{ "type": "command", "command": "echo hi" }] }\r\n\t\t]\r\n\t}\r\n}',
  '.mcp.json': '{"mcpServers":{"files":{"command":"npx","args":["files"]}}}\n',
  '.claude.json': '{\n  "numStartups": 3,\n  "projects": { "/a": { "history": [] } }\n}\n\n',
  '.codex/hooks.json': '{ "hooks": { "Stop": [ ] } }',
  '.codex/config.toml': '# mine\nmodel = "x"\n[mcp_servers.files]\ncommand = "npx"',
  '.gemini/settings.json':
    '{\n    // dark please\n    "ui": { "theme": "x" }, /* and */\n    "mcpServers": { }\n}\n',
  'opencode.json':
    '{\n  "$schema": "https://opencode.ai/config.json",\n  "mcp": {\n    "x": {"type": "remote", "url": "https://x"},\n  },\n}\n',
  '.openclaw/openclaw.json': '{\n  "mcp": {\n    "servers": {}\n  }\n}\n',
  '.cursor/mcp.json': '{}',
  '.vscode/mcp.json': '{\n\t"servers": {},\n\t"inputs": []\n}\n',
  '.agents/skills/other/SKILL.md': '---\nname: other\ndescription: x\n---\n',
};

function fill(root: string, files: { readonly [path: string]: string } = OTHERS): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

/** Returns every file and folder with the digest of its bytes. */
function snapshot(root: string): { [path: string]: string } {
  const hashes: { [path: string]: string } = {};
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(root.length + 1);
    if (/^\.relay(?:\/|$)/.test(name)) continue;
    hashes[name] = entry.isFile() ? createHash('sha256').update(readFileSync(path)).digest('hex') : 'folder';
  }
  return hashes;
}

for (const scope of ['project', 'user'] as const) {
  test(`for the ${scope}: installing twice changes nothing, and removing restores every byte`, async () => {
    for (const settings of [OTHERS, {}]) {
      using folder = new ScratchFolder();
      const root = scope === 'project' ? folder.path : folder.home;
      fill(root, settings);
      const env = { RELAY_HOME: join(folder.root, 'relay-home') };
      const before = snapshot(folder.root);
      const ran = await folder.relay(['install', ...CLIENTS, `--${scope}`], { env });
      assert.equal(ran.code, 0, ran.stderr);
      const installed = snapshot(folder.root);
      for (const [path, digest] of Object.entries(before)) {
        assert.ok(installed[path], `${path} is still there`);
        if (digest === 'folder') assert.equal(installed[path], 'folder');
      }
      const again = await folder.relay(['install', ...CLIENTS, `--${scope}`], { env });
      assert.equal(again.code, 0, again.stderr);
      assert.deepEqual(snapshot(folder.root), installed);
      assert.equal((await folder.relay(['install', ...CLIENTS, `--${scope}`, '--check'], { env })).code, 0);
      const removed = await folder.relay(['install', ...CLIENTS, `--${scope}`, '--remove'], { env });
      assert.equal(removed.code, 0, removed.stderr);
      const after = snapshot(folder.root);
      delete after['relay-home'];
      delete after['relay-home/installs'];
      assert.deepEqual(after, before);
    }
  });
}

test('hooks and servers of others stay, even if the file was edited before ours are removed', async () => {
  using folder = new ScratchFolder();
  fill(folder.path);
  await folder.relay(['install', 'claude', 'codex', 'gemini']);
  const claude = folder.json('.claude/settings.json');
  const events = ['SessionStart', 'UserPromptSubmit', 'PreToolUse', 'PreCompact', 'Stop'];
  assert.deepEqual(Object.keys(claude.hooks), events);
  assert.equal(claude.hooks.SessionStart[0].hooks[0].command, 'echo hi');
  assert.match(claude.hooks.SessionStart[1].hooks[0].command, /relay hook claude session-start 2>/);
  assert.equal(claude.hooks.SessionStart[1].hooks[0].timeout, 10);
  assert.deepEqual(Object.keys(folder.json('.mcp.json').mcpServers), ['files', 'relay']);
  const gemini = folder.read('.gemini/settings.json');
  assert.ok(
    gemini.includes('// dark please') && gemini.includes('/* and */') && gemini.includes('"timeout": 10000'),
  );
  assert.match(
    folder.read('.codex/config.toml'),
    /\[mcp_servers\.relay\]\ncommand = ".*relay"\nargs = \["mcp"\]\nenv_vars = .*\n$/,
  );

  folder.write(
    '.claude/settings.json',
    folder.read('.claude/settings.json').replace('"echo hi"', '"echo hello"'),
  );
  folder.write('.codex/config.toml', `${folder.read('.codex/config.toml')}\n[tui]\ntheme = "x"\n`);
  await folder.relay(['install', 'claude', 'codex', 'gemini', '--remove']);
  assert.equal(
    folder.read('.claude/settings.json'),
    OTHERS['.claude/settings.json']!.replace('"echo hi"', '"echo hello"'),
  );
  assert.equal(folder.read('.codex/config.toml'), `${OTHERS['.codex/config.toml']}\n\n[tui]\ntheme = "x"\n`);
  assert.equal(folder.read('.gemini/settings.json'), OTHERS['.gemini/settings.json']);
});

test('an edit of the file survives installing again and removing', async () => {
  using folder = new ScratchFolder();
  fill(folder.path, { '.claude/settings.json': '{\n  "a": 1\n}\n' });
  await folder.relay(['install', 'claude', '--only', 'hooks']);
  folder.write(
    '.claude/settings.json',
    folder
      .read('.claude/settings.json')
      .replace('"a": 1', '"a": 2')
      .replaceAll('"timeout": 10', '"timeout": 99'),
  );
  const check = await folder.relay(['install', 'claude', '--only', 'hooks', '--check']);
  assert.equal(check.code, 1);
  assert.match(check.stdout, /changed/);
  await folder.relay(['install', 'claude', '--only', 'hooks']);
  assert.equal((await folder.relay(['install', 'claude', '--only', 'hooks', '--check'])).code, 0);
  await folder.relay(['install', 'claude', '--remove']);
  assert.equal(folder.read('.claude/settings.json'), '{\n  "a": 2\n}\n');
});

test('without an install receipt, as on another machine, exactly our entries are removed', async () => {
  using folder = new ScratchFolder();
  fill(folder.path);
  await folder.relay(['install', ...CLIENTS]);
  const other = { RELAY_HOME: join(folder.root, 'another-home') };
  const ran = await folder.relay(['install', ...CLIENTS, '--remove'], { env: other });
  assert.equal(ran.code, 0, ran.stderr);
  for (const path of ['.claude/settings.json', '.mcp.json', 'opencode.json', '.vscode/mcp.json']) {
    assert.ok(!/relay/.test(folder.read(path)), path);
  }
  assert.equal(folder.read('.claude/settings.json'), OTHERS['.claude/settings.json']);
  assert.deepEqual(readdirSync(join(folder.path, '.agents', 'skills')), ['other']);
});

test('a broken settings file is rejected with line and column, and nothing is written anywhere', async () => {
  for (const [client, path, text, message] of [
    [
      'claude',
      '.claude/settings.json',
      '{\n  "hooks": {},\n}\n',
      /settings\.json cannot be used: there is a comma before } \(line 3, column 1\)/,
    ],
    [
      'claude',
      '.mcp.json',
      '{"mcpServers":{"relay":{"command":"other","args":["mcp"]}}}',
      /"mcpServers\.relay" already exists and runs another program/,
    ],
    [
      'codex',
      '.codex/config.toml',
      'model = "x"\nbroken = = 1\n',
      /config\.toml cannot be used: .*\(line 2, column 10\)/,
    ],
    ['gemini', '.gemini/settings.json', '{ "hooks": [] }', /"hooks" must be an object/],
    [
      'claude',
      '.claude/skills/context-relay/SKILL.md',
      '---\nname: context-relay\ndescription: another\n---\n',
      /another skill already has this name/,
    ],
  ] as const) {
    using folder = new ScratchFolder();
    fill(folder.path, { [path]: text });
    const before = snapshot(folder.path);
    const ran = await folder.relay(['install', client]);
    assert.equal(ran.code, 1);
    assert.match(ran.stderr, message);
    assert.deepEqual(snapshot(folder.path), before);
  }
});

test('a broken settings file of one client does not stop the installation for the others', async () => {
  using folder = new ScratchFolder();
  fill(folder.path, { '.claude/settings.json': '{ broken' });
  const ran = await folder.relay(['install', 'claude', 'gemini', '--json']);
  assert.equal(ran.code, 1);
  assert.match(ran.stderr, /claude was not changed: .*settings\.json cannot be used/);
  const { ok, reports, failed } = JSON.parse(ran.stdout);
  assert.deepEqual(
    [ok, reports.length, reports[0].client, failed.length, failed[0].client, failed[0].code],
    [false, 1, 'gemini', 1, 'claude', 'bad_file'],
  );
  assert.ok(folder.has('.gemini/settings.json') && !folder.has('.mcp.json'));
});

test('a dry run shows the diff and writes nothing', async () => {
  using folder = new ScratchFolder();
  fill(folder.path);
  const before = snapshot(folder.path);
  const ran = await folder.relay(['install', 'claude', '--dry-run']);
  assert.match(ran.stdout, /would change +\S+settings\.json \(hooks\)/);
  assert.match(ran.stdout, /\+.*relay hook claude stop/);
  assert.deepEqual(snapshot(folder.path), before);
  const unknown = await folder.relay(['install', 'claud']);
  assert.equal(unknown.code, 2);
  assert.match(unknown.stderr, /Did you mean: relay install claude/);
});

test('a skill that another agent also uses stays until the last one is removed; an edited file is kept', async () => {
  using folder = new ScratchFolder();
  await folder.relay(['install', 'codex', 'gemini']);
  const skill = join(folder.path, '.agents/skills/context-relay');
  const result = await folder.relay(['install', 'codex', '--remove', '--json']);
  assert.match(JSON.parse(result.stdout).reports[0].notes.join(' '), /also used by: gemini/);
  assert.ok(readdirSync(skill).includes('SKILL.md'));
  writeFileSync(join(skill, 'references', 'todos.md'), 'my own rules\n');
  await folder.relay(['install', 'gemini', '--remove']);
  assert.deepEqual(readdirSync(skill, { recursive: true }).sort(), ['references', 'references/todos.md']);
  assert.equal(readFileSync(join(skill, 'references', 'todos.md'), 'utf8'), 'my own rules\n');
});

test('a symlink stays a symlink, and a file with secrets keeps its mode', async () => {
  using folder = new ScratchFolder();
  fill(folder.root, { 'dotfiles/settings.json': '{\n  "env": { "TOKEN": "secret" }\n}\n' });
  chmodSync(join(folder.root, 'dotfiles/settings.json'), 0o600);
  mkdirSync(join(folder.home, '.claude'));
  symlinkSync('../../dotfiles/settings.json', join(folder.home, '.claude/settings.json'));
  assert.equal((await folder.relay(['install', 'claude', '--user', '--follow-links'])).code, 0);
  assert.ok(lstatSync(join(folder.home, '.claude/settings.json')).isSymbolicLink());
  const real = join(folder.root, 'dotfiles/settings.json');
  assert.match(readFileSync(real, 'utf8'), /relay hook claude stop/);
  assert.equal(statSync(real).mode & 0o777, 0o600);
  const receipts = join(folder.home, 'installs');
  for (const file of readdirSync(receipts)) assert.equal(statSync(join(receipts, file)).mode & 0o777, 0o600);
  assert.equal(statSync(join(folder.home, '.claude.json')).mode & 0o777, 0o600);
});

test('the MCP entry lists the environment variables that the client would withhold, by name and never by value', async () => {
  using folder = new ScratchFolder();
  const secret = 'cr_live_0123456789abcdef';
  const env = { CONTEXTRELAY_URL: 'http://127.0.0.1:9', CONTEXTRELAY_API_KEY: secret };
  fill(folder.path, {
    '.codex/config.toml': '[mcp_servers.relay]\ncommand = "relay"\nargs = ["mcp"]\nenv_vars = ["MINE"]\n',
    '.gemini/settings.json':
      '{"mcpServers":{"relay":{"command":"relay","args":["mcp"],"env":{"RELAY_AGENT":"gem"}}}}',
  });
  assert.equal((await folder.relay(['install', ...CLIENTS], { env })).code, 0);
  const names = ['RELAY_HOME', 'CONTEXTRELAY_URL', 'CONTEXTRELAY_API_KEY', 'RELAY_AGENT'];
  assert.match(
    folder.read('.codex/config.toml'),
    new RegExp(`^env_vars = \\["MINE", ${names.map((name) => `"${name}"`).join(', ')}\\]$`, 'm'),
  );
  assert.deepEqual(folder.json('.gemini/settings.json').mcpServers.relay.env, {
    ...Object.fromEntries(names.map((name) => [name, `\${${name}:-}`])),
    RELAY_AGENT: 'gem',
  });
  for (const entry of readdirSync(folder.path, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    assert.ok(!readFileSync(path, 'utf8').includes(secret), path);
  }
});

test('installing offers --approve-tools for Codex, writes it on request and keeps it', async () => {
  using folder = new ScratchFolder();
  const first = await folder.relay(['install', 'codex']);
  assert.match(first.stdout, /Next: relay project init/);
  assert.match(first.stdout, /Codex asks you before .*relay install codex --approve-tools/);
  assert.ok(!folder.read('.codex/config.toml').includes('approval'));
  assert.equal((await folder.relay(['install', 'codex', '--approve-tools'])).code, 0);
  const config = folder.read('.codex/config.toml');
  assert.match(config, /^default_tools_approval_mode = "approve"$/m);
  const again = await folder.relay(['install', 'codex']);
  assert.ok(!again.stdout.includes('--approve-tools'));
  assert.equal(folder.read('.codex/config.toml'), config);
  const other = await folder.relay(['install', 'claude', '--approve-tools']);
  assert.equal(other.code, 2);
  await folder.relay(['install', 'codex', '--remove']);
  assert.deepEqual(readdirSync(folder.path), []);
});

test('installing offers --approve-tools for Gemini too, and keeps it', async () => {
  using folder = new ScratchFolder();
  const offer = /Gemini CLI asks you before it runs a relay tool.*relay install gemini --approve-tools/;
  assert.match((await folder.relay(['install', 'gemini'])).stdout, offer);
  assert.doesNotMatch((await folder.relay(['install', 'gemini', '--approve-tools'])).stdout, offer);
  assert.equal(folder.json('.gemini/settings.json').mcpServers.relay.trust, true);
  assert.doesNotMatch((await folder.relay(['install', 'gemini'])).stdout, offer);
  assert.equal(folder.json('.gemini/settings.json').mcpServers.relay.trust, true);
});

test('hooks of Cursor and VS Code and the plugin of OpenCode are added next to others, and removed', async () => {
  using folder = new ScratchFolder();
  const others = {
    '.cursor/hooks.json':
      '{"version": 1, "hooks": {"sessionStart": [{"command": "./mine.sh"}], "stop": []}}\n',
    '.opencode/plugins/mine.js': 'export const Mine = async () => ({});\n',
  };
  fill(folder.path, others);
  const before = snapshot(folder.path);
  assert.equal((await folder.relay(['install', 'cursor', 'vscode', 'opencode'])).code, 0);
  const { sessionStart } = folder.json('.cursor/hooks.json').hooks;
  assert.deepEqual([sessionStart[0].command, sessionStart.length], ['./mine.sh', 2]);
  assert.match(sessionStart[1].command, /hook cursor session-start/);
  assert.match(folder.json('.github/hooks/relay.json').hooks.SessionStart[0].command, /hook vscode/);
  assert.match(folder.read('.opencode/plugins/relay.js'), /"hook","opencode"/);
  assert.equal((await folder.relay(['install', 'cursor', 'vscode', 'opencode', '--check'])).code, 0);
  assert.equal((await folder.relay(['install', 'cursor', 'vscode', 'opencode', '--remove'])).code, 0);
  assert.deepEqual(snapshot(folder.path), before);
  folder.write('.opencode/plugins/relay.js', 'export const Other = 1;\n');
  const refused = await folder.relay(['install', 'opencode']);
  assert.match(refused.stderr, /another program has a file with this name/);
});

test('with --only, only that part is reported', async () => {
  using folder = new ScratchFolder();
  const ran = await folder.relay(['install', 'gemini', '--only', 'mcp', '--json']);
  const { changes } = JSON.parse(ran.stdout).reports[0];
  assert.deepEqual(
    changes.map(({ parts }: { parts: string[] }) => parts),
    [['mcp']],
  );
});

test('user settings are private to the user, even if the home path begins with the project path', async () => {
  using folder = new ScratchFolder();
  const env = { HOME: `${folder.path}-home` };
  assert.equal((await folder.relay(['install', 'claude', '--user'], { env })).code, 0);
  assert.equal(statSync(join(env.HOME, '.claude.json')).mode & 0o777, 0o600);
});
