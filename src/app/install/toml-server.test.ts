import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readToml } from '../../formats/toml.ts';
import { Occupied } from './entries.ts';
import { addTomlServer, removeTomlServer } from './toml-server.ts';

const SERVER = { command: 'relay', args: ['mcp'] };
const CONFIG =
  '# mine\nmodel = "x" # fast\n\n[mcp_servers.files]\ncommand = "npx"\nargs = [\n  "files", # all of them\n]\n\n[projects."/a b"]\ntrust_level = "trusted"\n';

test('the table is appended, once, and taken out to the byte', () => {
  for (const text of [
    CONFIG,
    CONFIG.replaceAll('\n', '\r\n'),
    '',
    'model = "x"\n',
    '[mcp_servers.relay_other]\ncommand = "x"\n',
  ]) {
    const added = addTomlServer(text, SERVER);
    assert.ok(added.startsWith(text));
    const { relay } = readToml(added).mcp_servers as { relay: unknown };
    assert.deepEqual({ ...(relay as object) }, SERVER);
    assert.equal(addTomlServer(added, SERVER), added);
    assert.equal(removeTomlServer(added), text);
  }
  assert.equal(
    addTomlServer('a = 1', SERVER),
    'a = 1\n\n[mcp_servers.relay]\ncommand = "relay"\nargs = ["mcp"]\n',
  );
});

test('removing takes our tables and leaves what a person wrote around and after them', () => {
  const text = `${addTomlServer(CONFIG, SERVER)}startup_timeout_sec = 20\n\n[mcp_servers.relay.env]\nA = "1"\n\n# about the next\n[tui]\ntheme = "dark"\n`;
  assert.equal(removeTomlServer(text), `${CONFIG}\n# about the next\n[tui]\ntheme = "dark"\n`);
});

test('an old line of ours is brought up to date, and what a person added stays', () => {
  const old = '[mcp_servers.relay]\ncommand = "/old/relay"\nargs = ["mcp"]\nenv = { A = "1" }\n';
  assert.equal(addTomlServer(old, SERVER), old.replace('/old/relay', 'relay'));
});

test('another server of that name, and a form that cannot be changed safely, are left alone', () => {
  assert.throws(() => addTomlServer('[mcp_servers.relay]\ncommand = "other"\n', SERVER), Occupied);
  assert.throws(() => addTomlServer('mcp_servers = { files = { command = "x" } }\n', SERVER), Occupied);
  assert.throws(
    () => removeTomlServer('mcp_servers.relay = { command = "relay", args = ["mcp"] }\n'),
    Occupied,
  );
  const foreign = '[mcp_servers.relay]\ncommand = "other"\n';
  assert.equal(removeTomlServer(foreign), foreign);
});

test('what does not parse is named by line and column', () => {
  assert.throws(
    () => addTomlServer('a = 1\nb = = 2\n', SERVER),
    (error: { line: number; column: number }) => error.line === 2 && error.column > 0,
  );
});

test('a key that is new in our entry is added to one of ours that lacks it', () => {
  const old =
    '[mcp_servers.relay]\r\ncommand = "relay"\r\nargs = ["mcp"]\r\n\r\n[mcp_servers.relay.env]\r\nA = "1"\r\n';
  const added = addTomlServer(old, { ...SERVER, env_vars: ['B'] });
  assert.equal(added, old.replace('args = ["mcp"]\r\n', 'args = ["mcp"]\r\nenv_vars = ["B"]\r\n'));
  const mine = addTomlServer(old.replace('args = ["mcp"]', 'args = ["mcp"]\r\nenv_vars = ["C"]'), {
    ...SERVER,
    env_vars: ['B'],
  });
  assert.match(mine, /env_vars = \["C", "B"\]/);
});
