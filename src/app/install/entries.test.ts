import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readToml } from '../../formats/toml.ts';
import {
  addEntries,
  addTomlServer,
  type Entry,
  isOurServer,
  Occupied,
  ourHook,
  presentContainers,
  removeEntries,
  removeTomlServer,
} from './entries.ts';

const hook = (command: string) => ({ type: 'command', command, timeout: 10 });
const HOOKS: Entry = {
  kind: 'hooks',
  client: 'claude',
  hooks: {
    'session-start': { event: 'SessionStart', handler: hook('relay hook claude session-start') },
    'pre-edit': { event: 'PreToolUse', matcher: 'Edit', handler: hook('relay hook claude pre-edit') },
    stop: { event: 'Stop', handler: hook('relay hook claude stop') },
    wait: { event: 'Stop', handler: { ...hook('relay hook claude wait'), asyncRewake: true } },
  },
};
const SERVER: Entry = {
  kind: 'mcp',
  path: ['mcpServers', 'relay'],
  value: { command: 'relay', args: ['mcp'] },
};
const BOTH = [HOOKS, SERVER];
const add = (text: string, entries: readonly Entry[] = BOTH, comments = true) =>
  addEntries(text, entries, comments);

const OTHERS = `{
\t// mine
\t"model": "x",
\t"hooks": {
\t\t"Stop": [{ "matcher": "", "hooks": [{ "type": "command", "command": "say done" }] }],
\t\t"PreToolUse": []
\t},
\t"mcpServers": { "files": { "command": "npx", "args": ["files"] } }, // theirs
}
`;

test('our entries are recognized by the command that they run', () => {
  for (const command of [
    'relay hook claude stop',
    '/opt/x/relay hook claude session-start',
    '"/a b/node" "/a b/dist/cli/relay.js" hook claude stop',
    'C:\\x\\relay.cmd hook claude stop',
    'npx -y contextrelay hook claude stop',
    'unset BUN_BE_BUN; relay hook claude stop 2>/dev/null || exit 0',
    'unset BUN_BE_BUN; "/a b/node" "/a b/dist/cli/relay.js" hook claude stop 2>/dev/null || exit 0',
    'unset BUN_BE_BUN; relay hook claude wait >&2 2>/dev/null || exit $(($? == 42 ? 2 : 0))',
  ]) {
    assert.ok(ourHook(command, 'claude'), command);
  }
  for (const command of [
    'relay hook codex stop',
    'my-relay hook claude stop',
    'relay hook claude stop && x',
    'relay hook claude stop 2>/dev/null || x',
    'echo relay',
    7,
  ]) {
    assert.equal(ourHook(command, 'claude'), null, String(command));
  }
  assert.ok(
    isOurServer({ command: '/x/relay', args: ['mcp'] }) &&
      isOurServer({ command: '/x/relay', args: ['mcp', '--tools', 'agents'] }) &&
      isOurServer({ type: 'local', command: ['relay', 'mcp'] }),
  );
  assert.ok(
    !isOurServer({ command: 'npx', args: ['relay-mcp'] }) &&
      !isOurServer({ command: 'relay', args: ['serve'] }),
  );
});

test('adding keeps the entries of others, adding again changes nothing, and removing restores the text', () => {
  for (const text of [
    OTHERS,
    OTHERS.replaceAll('\n', '\r\n'),
    '{"a":1}',
    '{\n  "hooks": {},\n  "mcpServers": {}\n}',
    '{ }\n',
  ]) {
    const added = add(text);
    assert.equal(add(added), added);
    const keep = presentContainers(text, BOTH);
    const removed = removeEntries(added, BOTH, keep);
    // Removing our entries turns `{ }` into `{}`. Only a receipt could restore the space, and this test has
    // none.
    assert.equal(removed.replace('{ }', '{}'), text.replace('{ }', '{}'));
  }
  const added = add(OTHERS);
  for (const line of OTHERS.split('\n').filter((row) => /mine|theirs|say done|model/.test(row))) {
    assert.ok(added.includes(line.trim().replace(/(?: \}| \}\]),? *(\/\/.*)?$/, '')), line);
  }
});

test('an old entry of ours is updated in place, and keeps what a person added', () => {
  const old = add('{"hooks":{}}', BOTH)
    .replaceAll('relay hook', '/old/relay hook')
    .replace('"timeout":10', '"timeout":10,"async":true');
  const fresh = add(old);
  assert.ok(!fresh.includes('/old/'));
  assert.ok(fresh.includes('"async":true'));
  assert.equal(fresh.match(/relay hook claude session-start/g)?.length, 1);
});

test('our entry is removed from an event that we no longer use, and other entries stay', () => {
  const text =
    '{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"relay hook claude pre-tool"},{"type":"command","command":"lint"}]}]}}';
  const value = JSON.parse(add(text, [HOOKS]));
  assert.deepEqual(value.hooks.PreToolUse[0], { hooks: [{ type: 'command', command: 'lint' }] });
});

test('two hooks of one event are told apart, a repeated one is removed, and the tools of an edit are corrected', () => {
  const added = add('{}', [HOOKS]);
  const { hooks } = JSON.parse(added);
  assert.deepEqual(
    hooks.Stop.map((group: { hooks: unknown[] }) => group.hooks),
    [[hook('relay hook claude stop')], [{ ...hook('relay hook claude wait'), asyncRewake: true }]],
  );
  assert.equal(hooks.PreToolUse[0].matcher, 'Edit');
  const worse = structuredClone({ hooks });
  worse.hooks.Stop.push(worse.hooks.Stop[1]);
  worse.hooks.PreToolUse[0].matcher = '*';
  assert.deepEqual(JSON.parse(add(JSON.stringify(worse), [HOOKS])), { hooks });
  assert.deepEqual(JSON.parse(removeEntries(JSON.stringify(worse), [HOOKS])), {});
});

test('an entry of another program is never overwritten', () => {
  assert.throws(() => add('{"mcpServers":{"relay":{"command":"other"}}}'), Occupied);
  assert.throws(() => add('{"hooks":[]}'), Occupied);
  assert.throws(() => add('{"hooks":{"Stop":{}}}'), Occupied);
  assert.throws(() => add('[]'), Occupied);
  const foreign = '{"mcpServers":{"relay":{"command":"other"}}}';
  assert.equal(removeEntries(foreign, BOTH), foreign);
});

test('comments are an error if the client does not accept them', () => {
  assert.throws(() => add(OTHERS, BOTH, false), /line 2, column 2/);
});

const TOML_SERVER = { command: 'relay', args: ['mcp'] };
const CONFIG =
  '# mine\nmodel = "x" # fast\n\n[mcp_servers.files]\ncommand = "npx"\nargs = [\n  "files", # all of them\n]\n\n[projects."/a b"]\ntrust_level = "trusted"\n';

test('the table is appended once, and removing it restores every byte', () => {
  for (const text of [
    CONFIG,
    CONFIG.replaceAll('\n', '\r\n'),
    '',
    'model = "x"\n',
    '[mcp_servers.relay_other]\ncommand = "x"\n',
  ]) {
    const added = addTomlServer(text, TOML_SERVER);
    assert.ok(added.startsWith(text));
    const { relay } = readToml(added).mcp_servers as { relay: unknown };
    assert.deepEqual({ ...(relay as object) }, TOML_SERVER);
    assert.equal(addTomlServer(added, TOML_SERVER), added);
    assert.equal(removeTomlServer(added), text);
  }
  assert.equal(
    addTomlServer('a = 1', TOML_SERVER),
    'a = 1\n\n[mcp_servers.relay]\ncommand = "relay"\nargs = ["mcp"]\n',
  );
});

test('removing deletes our tables and keeps what a person wrote around and after them', () => {
  const text = `${addTomlServer(CONFIG, TOML_SERVER)}startup_timeout_sec = 20\n\n[mcp_servers.relay.env]\nA = "1"\n\n# about the next\n[tui]\ntheme = "dark"\n`;
  assert.equal(removeTomlServer(text), `${CONFIG}\n# about the next\n[tui]\ntheme = "dark"\n`);
});

test('an old TOML entry of ours is updated, and keeps what a person added', () => {
  const old = '[mcp_servers.relay]\ncommand = "/old/relay"\nargs = ["mcp"]\nenv = { A = "1" }\n';
  assert.equal(addTomlServer(old, TOML_SERVER), old.replace('/old/relay', 'relay'));
});

test('another server with our name, and a format that cannot be changed safely, are left alone', () => {
  assert.throws(() => addTomlServer('[mcp_servers.relay]\ncommand = "other"\n', TOML_SERVER), Occupied);
  assert.throws(() => addTomlServer('mcp_servers = { files = { command = "x" } }\n', TOML_SERVER), Occupied);
  assert.throws(
    () => removeTomlServer('mcp_servers.relay = { command = "relay", args = ["mcp"] }\n'),
    Occupied,
  );
  const foreign = '[mcp_servers.relay]\ncommand = "other"\n';
  assert.equal(removeTomlServer(foreign), foreign);
});

test('a file that does not parse is reported with line and column', () => {
  assert.throws(
    () => addTomlServer('a = 1\nb = = 2\n', TOML_SERVER),
    (error: { line: number; column: number }) => error.line === 2 && error.column > 0,
  );
});

test('a key that is new in our entry is added to an old entry of ours', () => {
  const old =
    '[mcp_servers.relay]\r\ncommand = "relay"\r\nargs = ["mcp"]\r\n\r\n[mcp_servers.relay.env]\r\nA = "1"\r\n';
  const added = addTomlServer(old, { ...TOML_SERVER, env_vars: ['B'] });
  assert.equal(added, old.replace('args = ["mcp"]\r\n', 'args = ["mcp"]\r\nenv_vars = ["B"]\r\n'));
  const mine = addTomlServer(old.replace('args = ["mcp"]', 'args = ["mcp"]\r\nenv_vars = ["C"]'), {
    ...TOML_SERVER,
    env_vars: ['B'],
  });
  assert.match(mine, /env_vars = \["C", "B"\]/);
});

test('chosen tool groups stay when the entry is written again', () => {
  const path = ['mcp', 'relay'];
  const entry = (args: string[]) => ({ kind: 'mcp', path, value: { command: 'relay', args } }) as Entry;
  const chosen = addEntries('{}', [entry(['mcp', '--tools', 'agents'])], false);
  assert.deepEqual(JSON.parse(chosen).mcp.relay.args, ['mcp', '--tools', 'agents']);
  assert.equal(addEntries(chosen, [entry(['mcp'])], false), chosen);
  const other = addEntries(chosen, [entry(['mcp', '--tools', 'push_context'])], false);
  assert.deepEqual(JSON.parse(other).mcp.relay.args, ['mcp', '--tools', 'push_context']);
});
