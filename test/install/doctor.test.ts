import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { isAlive } from '../../src/app/serve/pid-file.ts';
import { onExecutable } from '../cli/program.ts';
import { ScratchFolder } from '../projects/scratch-folder.ts';
import { until } from '../until.ts';

interface Check {
  readonly name: string;
  readonly state: string;
  readonly found: string;
  readonly fix?: string;
}

async function doctor(folder: ScratchFolder, o: { timeout?: string; env?: object } = {}): Promise<Check[]> {
  const args = ['doctor', '--json', '--timeout', o.timeout ?? '100s'];
  const { stdout } = await folder.relay(args, { env: { ...o.env } });
  return (JSON.parse(stdout) as { checks: Check[] }).checks;
}

/** Hooks of each client as doctor names them. */
const HOOKS = {
  claude: 'SessionStart, UserPromptSubmit, PreToolUse, PreCompact, Stop, Stop (in the background)',
  codex: 'SessionStart, UserPromptSubmit, PreToolUse, PreCompact, Stop',
  gemini: 'SessionStart, BeforeAgent, BeforeTool, PreCompress, AfterAgent',
};

/** Returns the checks about coding agents. */
const ofClients = (checks: readonly Check[]) =>
  checks.filter(({ name }) => /^(?:claude|codex|gemini|opencode|cursor|project files)/.test(name));

const names = (checks: readonly Check[]) => checks.map(({ name }) => name.replace(', in this folder', ''));

test('doctor runs each installed hook, checks its effect, starts the MCP server and reads the trust', async () => {
  using folder = new ScratchFolder();
  assert.deepEqual(ofClients(await doctor(folder)), [], 'nothing installed, nothing said');
  await folder.relay(['install', 'claude', 'codex', 'gemini']);
  const checks = ofClients(await doctor(folder));
  const find = (name: string) => checks.find((check) => check.name === name)!;
  for (const [client, hooks] of Object.entries(HOOKS))
    assert.equal(
      find(`${client}, in this folder: hook ${hooks}`)?.found,
      'ran and had the expected effect',
      JSON.stringify(checks),
    );
  for (const client of ['claude', 'codex', 'gemini'])
    assert.match(find(`${client}, in this folder: MCP`).found, /^started, has \d+ tools: .*push_context/);
  assert.match(
    find('codex, in this folder: tee').found,
    /^Codex lets no other program .*COMMAND \| relay tee$/,
  );
  const trust = checks.filter(({ name }) => name.endsWith(': trust'));
  assert.deepEqual(
    trust.map(({ name, state, found }) => [name.split(',')[0], state, found]),
    [
      ['codex', 'warning', 'Codex ignores the settings of a folder that it does not trust'],
      [
        'codex',
        'warning',
        'hooks SessionStart, UserPromptSubmit, PreToolUse, PreCompact, Stop: not trusted yet, so Codex does not run them',
      ],
      ['gemini', 'warning', 'Gemini CLI ignores the settings of a folder that it does not trust'],
    ],
  );
  assert.equal(find('project files').fix, 'relay project init');
  folder.write('../home/.gemini/settings.json', '{"security":{"folderTrust":{"enabled":false}}}');
  await folder.relay(['project', 'init']);
  const { stdout } = await folder.relay(['doctor', '--timeout', '100s']);
  assert.match(stdout, /\nNothing failed, but there are 2 warnings above\.\n$/);
});

test('doctor reports each problem of a hook or file once, with the command that fixes it', async () => {
  using folder = new ScratchFolder();
  await folder.relay(['install', 'claude', 'gemini', 'codex', 'cursor']);
  const settings = folder.read('.claude/settings.json');
  folder.write(
    '.claude/settings.json',
    settings
      .replace(/(?<=; )[^"]*relay(?:\.js)? hook claude stop/, '/nowhere/relay hook claude stop')
      .replace('hook claude pre-compact', 'hook claude before-compact')
      .replace('"UserPromptSubmit"', '"UserPrompt"'),
  );
  folder.write('.gemini/settings.json', '{ broken');
  folder.write(
    '.mcp.json',
    folder.read('.mcp.json').replace(/"command": ".*"/, '"command": "/nowhere/relay"'),
  );
  folder.write('.codex/config.toml', folder.read('.codex/config.toml').replace(/^env_vars.*$/m, ''));
  folder.write('.codex/hooks.json', '{}');
  const checks = ofClients(await doctor(folder, { env: { RELAY_AGENT: 'me' } }));
  const find = (name: string) => checks.find((check) => check.name === name)!;
  const stop = find('claude, in this folder: hook Stop, MCP');
  assert.deepEqual(
    [stop.state, stop.found, stop.fix],
    ['wrong', '/nowhere/relay does not exist', 'relay install claude'],
  );
  assert.match(find('claude, in this folder: hook PreCompact').found, /relay has no hook "before-compact"/);
  assert.match(
    find('claude, in this folder: hook UserPrompt').found,
    /relay has no hook for the event UserPrompt of claude/,
  );
  const rest = 'SessionStart, PreToolUse, Stop (in the background)';
  assert.equal(find(`claude, in this folder: hook ${rest}`).state, 'ok');
  assert.ok(!names(checks).includes('claude: files'), 'what is wrong with the files has been said');
  assert.match(find('codex, in this folder: hooks').found, /hooks\.json has none/);
  assert.match(
    find('codex, in this folder: MCP').found,
    /started, but codex passes RELAY_HOME, RELAY_AGENT only to hooks/,
  );
  assert.match(
    find('gemini, in this folder').found,
    new RegExp(`${join(folder.path, '.gemini/settings.json')} cannot be used: .*line 1`),
  );
  assert.equal(find('cursor, in this folder: MCP').state, 'ok');
});

test('doctor reports a missing MCP entry', async () => {
  using folder = new ScratchFolder();
  await folder.relay(['install', 'claude']);
  folder.write('.mcp.json', '{"mcpServers":{}}');
  const checks = ofClients(await doctor(folder));
  assert.deepEqual(names(checks), [`claude: hook ${HOOKS.claude}`, 'claude: MCP', 'project files']);
  assert.match(checks[1]!.found, /^no entry in .*\.mcp\.json, so the agent has no relay tools$/);
});

test('doctor reports payloads that are missing from the store', async () => {
  using folder = new ScratchFolder();
  folder.write('long.txt', 'x'.repeat(2_000_000));
  assert.equal((await folder.relay(['push', 'long.txt'])).code, 0);
  rmSync(join(folder.home, 'blobs'), { recursive: true });
  const store = (await doctor(folder)).find(({ name }) => name === 'store')!;
  assert.equal(store.state, 'warning');
  assert.match(store.found, /^1 payload file is missing: blobs\//);
  assert.match(store.fix!, /backup/);
});

test('doctor reports if hooks and servers call relay but it is not on the PATH', async () => {
  using folder = new ScratchFolder();
  const bin = join(folder.root, 'bin');
  mkdirSync(bin);
  symlinkSync(join(import.meta.dirname, '../../relay'), join(bin, 'relay'));
  const env = { PATH: `${bin}:${process.env.PATH}` };
  await folder.relay(['install', 'claude', 'gemini'], { env });
  const fired = ofClients(await doctor(folder, { env })).filter(({ name }) => name.includes(': hook'));
  assert.deepEqual(
    fired.map(({ state, found }) => [state, found]),
    Array(2).fill(['ok', 'ran and had the expected effect']),
  );
  const checks = ofClients(await doctor(folder)).filter(({ state }) => state === 'wrong');
  assert.deepEqual(names(checks), [`claude: hook ${HOOKS.claude}, MCP`, `gemini: hook ${HOOKS.gemini}, MCP`]);
  for (const { found, fix } of checks) {
    assert.equal(found, 'relay is not on the PATH, so relay cannot run');
    assert.match(fix!, /^put relay on the PATH/);
  }
});

const viaNodeOptions = { skip: onExecutable && 'the executable does not read NODE_OPTIONS' };
test(
  'doctor ends even if a server, a hook and an MCP server hang, and leaves nothing running',
  viaNodeOptions,
  async () => {
    using folder = new ScratchFolder();
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    await folder.relay(['install', 'claude', 'cursor']);
    folder.write('pids/none', '');
    const pidsIn = join(folder.path, 'pids');
    // NODE_OPTIONS makes every hook and MCP server of this program hang.
    folder.write(
      'hang.mjs',
      `import { writeFileSync } from 'node:fs';
    if (['hook', 'mcp'].includes(process.argv[2])) {
      writeFileSync(${JSON.stringify(pidsIn)} + '/' + process.pid, '');
      await new Promise((done) => setTimeout(done, 1e6));
    }`,
    );
    const env = { CONTEXTRELAY_URL: url, NODE_OPTIONS: `--import=${join(folder.path, 'hang.mjs')}` };
    const checks = await doctor(folder, { timeout: '5s', env });
    silent.closeAllConnections();
    silent.close();
    const wrong = checks.filter(({ state }) => state === 'wrong');
    assert.deepEqual(wrong.map(({ found }) => found.replace(/^http\S+/, 'URL')).sort(), [
      'URL does not answer',
      ...Array(2).fill('it did not answer within 5 s'),
      'it did not end within 5 s',
      'it did not end within 5 s',
    ]);
    const pids = readdirSync(pidsIn).filter((name) => name !== 'none');
    assert.ok(pids.length > 0);
    await until(() => !pids.some((pid) => isAlive({ pid: Number(pid), birth: null })));
  },
);

test('a brief from a plugin and from relay install is reported, with the commands that remove one', async () => {
  using folder = new ScratchFolder();
  folder.write('../home/.claude/settings.json', '{"enabledPlugins": {"context-relay@contextrelay": true}}');
  const extension = '{"name": "context-relay", "version": "0.2.0"}';
  folder.write('../home/.gemini/extensions/relay/gemini-extension.json', extension);
  const { stdout } = await folder.relay(['install', 'claude', 'gemini', 'opencode']);
  const twice = (client: string, plugin: string, remove: string) =>
    `In ${client}, the brief comes 2 times: from relay install ${client} and ${plugin}; remove one: relay install ${client} --remove, or ${remove}`;
  const claude = twice(
    'claude',
    'the plugin context-relay@contextrelay',
    'claude plugin uninstall context-relay@contextrelay',
  );
  assert.ok(stdout.includes(claude), stdout);
  assert.ok(
    stdout.includes(
      twice('gemini', 'the extension context-relay', 'gemini extensions uninstall context-relay'),
    ),
  );
  assert.doesNotMatch(stdout, /In opencode/);
  const again = (await folder.relay(['install', 'opencode', '--user'])).stdout;
  assert.match(again, /In opencode, the brief comes 2 times: .* and relay install opencode --user/);
  const checked = (await folder.relay(['doctor', '--timeout', '60s'])).stdout;
  assert.match(
    checked,
    /warning {2}claude: brief: the brief comes 2 times: .*\n +→ remove one: relay install claude --remove/,
  );
  await folder.relay(['install', 'claude', '--remove', '--only', 'hooks']);
  assert.doesNotMatch((await folder.relay(['install', 'claude', '--only', 'mcp'])).stdout, /In claude/);
});

test('doctor says which clients start without the brief', async () => {
  using folder = new ScratchFolder();
  await folder.relay(['install', 'openclaw', 'vscode', '--user']);
  const { stdout } = await folder.relay(['doctor', '--timeout', '60s']);
  for (const client of ['openclaw', 'vscode'])
    assert.match(
      stdout,
      new RegExp(`ok +${client}, for you: brief: This client has no hook .*without the brief`),
    );
});
