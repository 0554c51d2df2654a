import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fallbackLine } from '../../src/app/install/extras.ts';
import { ScratchFolder } from '../projects/scratch-folder.ts';

const SERVERS = `{
  "mcpServers": {
    "files": { "command": "echo",   "args": ["the server", "it's"], "env": { "TOKEN": "\${TOKEN}" } },
    "web": { "type": "http", "url": "https://example.com/mcp?key=s3cret", "headers": { "Authorization": "Bearer \${KEY}" } }
  }
}
`;
const CODEX = `# mine
[mcp_servers.files]
command = "echo"   # a comment
args = ["the server"]

[mcp_servers.files.env]
TOKEN = "x"
`;

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

test('--wrap puts relay before a server, which still starts without relay, and --unwrap restores every byte', async () => {
  using folder = new ScratchFolder();
  folder.write('.mcp.json', SERVERS);
  const ran = await folder.relay(['install', 'claude', '--wrap', 'files']);
  assert.equal(ran.code, 0, ran.stderr);
  const { files } = folder.json('.mcp.json').mcpServers;
  assert.deepEqual(files.env, { TOKEN: `\${TOKEN}` });
  assert.match(files.args[1], /'mcp' 'wrap' '--name' 'files' '--' "\$@"; exec "\$@"$/);
  const without = files.args.with(1, files.args[1].replaceAll(/'[^' ]*relay'/g, 'no-such-relay'));
  assert.equal(spawnSync(files.command, without, { encoding: 'utf8' }).stdout, "the server it's\n");
  assert.equal((await folder.relay(['install', 'claude', '--wrap', 'files'])).code, 0);
  await folder.relay(['install', 'claude', '--unwrap', 'files']);
  assert.equal(folder.read('.mcp.json'), SERVERS);
});

test('a wrapped server starts if the path of relay contains spaces and quotes', () => {
  using folder = new ScratchFolder();
  const command = join(folder.home, "it's a folder", 'relay');
  write(command, '#!/bin/sh\nshift 5\necho wrapped "$@"\n');
  chmodSync(command, 0o755);
  const start = (launcher: string) => {
    const line = fallbackLine({ command: launcher, args: [], portable: false }, "a 'b'");
    return spawnSync('sh', ['-c', line, 'sh', 'echo', 'alone'], { encoding: 'utf8' }).stdout;
  };
  assert.equal(start(command), 'wrapped echo alone\n');
  assert.equal(start(`${command} missing`), 'alone\n');
});

test('--unwrap restores the bytes of the entry even if other entries were edited', async () => {
  using folder = new ScratchFolder();
  folder.write('.mcp.json', SERVERS);
  await folder.relay(['install', 'claude', '--wrap', 'files']);
  folder.write('.mcp.json', folder.read('.mcp.json').replace('example.com', 'example.org'));
  await folder.relay(['install', 'claude', '--unwrap', 'files']);
  assert.equal(folder.read('.mcp.json'), SERVERS.replace('example.com', 'example.org'));
});

test('a server over HTTP is wrapped only in settings of the user, and no argument contains its URL or headers', async () => {
  using folder = new ScratchFolder();
  folder.write('.mcp.json', SERVERS);
  const refused = await folder.relay(['install', 'claude', '--wrap', 'web']);
  assert.notEqual(refused.code, 0);
  assert.match(refused.stderr, /People without relay/);
  assert.equal(folder.read('.mcp.json'), SERVERS);
  const path = join(folder.home, '.gemini', 'settings.json');
  write(path, SERVERS);
  assert.equal((await folder.relay(['install', 'gemini', '--user', '--wrap', 'web'])).code, 0);
  const { web } = JSON.parse(readFileSync(path, 'utf8')).mcpServers;
  assert.deepEqual(web.args.slice(-4), ['mcp', 'wrap', '--name', 'web']);
  assert.equal(web.env.RELAY_MCP_URL, 'https://example.com/mcp?key=s3cret');
  assert.equal(web.env.RELAY_MCP_HEADERS, `{"Authorization":"Bearer \${KEY}"}`);
  await folder.relay(['install', 'gemini', '--user', '--unwrap', 'web']);
  assert.equal(readFileSync(path, 'utf8'), SERVERS);
});

test('a server of Codex is wrapped in its TOML file', async () => {
  using folder = new ScratchFolder();
  const path = join(folder.home, '.codex', 'config.toml');
  write(path, CODEX);
  const ran = await folder.relay(['install', 'codex', '--user', '--wrap', 'files']);
  assert.equal(ran.code, 0, ran.stderr);
  assert.match(readFileSync(path, 'utf8'), /command = "sh"\nargs = \["-c", .*"the server"\]/);
  await folder.relay(['install', 'codex', '--user', '--unwrap', 'files']);
  assert.equal(readFileSync(path, 'utf8'), CODEX);
});

test('an unknown server is an error that names the file', async () => {
  using folder = new ScratchFolder();
  const ran = await folder.relay(['install', 'claude', '--wrap', 'nothing']);
  assert.notEqual(ran.code, 0);
  assert.match(ran.stderr, /no MCP server "nothing" in .*\.mcp\.json/);
});
