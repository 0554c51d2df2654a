import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { countTokens } from '../../src/app/store/token-counter.ts';
import { ENTRY, NODE } from '../cli/program.ts';
import { CLIENT_RUNS } from '../mcp/client-runs.ts';
import { FakeModel } from './fake-model.ts';
import { installedClient, runClient } from './installed-clients.ts';

const SERVERS = resolve(import.meta.dirname, '../../node_modules/.cache/mcp-servers');
const PACKAGES = {
  '@modelcontextprotocol/server-memory': '2026.8.31',
  '@modelcontextprotocol/server-filesystem': '2026.8.31',
};

/** Installs the public servers from npm. Returns the reason if that fails, or false. */
function installServers(): string | false {
  mkdirSync(SERVERS, { recursive: true });
  const names = Object.keys(PACKAGES);
  if (names.every((name) => existsSync(join(SERVERS, 'node_modules', name)))) return false;
  writeFileSync(join(SERVERS, 'package.json'), '{"private":true}');
  const packages = Object.entries(PACKAGES).map(([name, version]) => `${name}@${version}`);
  const { status, stderr } = spawnSync('npm', ['install', '--no-audit', '--no-fund', ...packages], {
    cwd: SERVERS,
    encoding: 'utf8',
  });
  return status === 0 ? false : `the servers cannot be installed: ${stderr.slice(-200)}`;
}

const skip = installServers();

for (const client of ['claude', 'codex'] as const)
  test(`${client}: a public server passes 300 KB to another one, with under 300 tokens through the model`, {
    skip,
  }, async () => {
    const found = installedClient(client);
    if ('missing' in found) throw new Error(found.missing);
    const home = realpathSync(mkdtempSync(join(tmpdir(), 'relay-pass-')));
    const memory = join(home, 'memory.json');
    const entities = Array.from({ length: 3_000 }, (_, i) => ({
      type: 'entity',
      name: `service ${i}`,
      entityType: 'service',
      observations: [`it listens on port ${i}`, 'it was restarted twice'],
    }));
    writeFileSync(memory, entities.map((entity) => JSON.stringify(entity)).join('\n'));
    const target = join(home, 'graph.json');
    let answers: readonly string[] = [];
    let runs = 1;
    const toolArguments: string[] = [];
    await using model = new FakeModel((toolResults) => {
      answers = toolResults;
      if (toolResults.length === 0) return { tool: 'read_graph', args: {} };
      // Codex continues in another process. Only the session id tells the relay that the handle belongs to this
      // session.
      if (toolResults.length > 1 || (client === 'codex' && runs === 1)) return { text: 'done' };
      const handle = /\[(relay:\d+) · /.exec(toolResults[0]!)?.[1] ?? 'none';
      const args = { path: target, content: handle };
      toolArguments.push(JSON.stringify(args));
      return { tool: 'write_file', args };
    }, 'write_file');
    const relayHome = join(home, '.relay');
    const env = { RELAY_HOME: relayHome, MEMORY_FILE_PATH: memory };
    const stdio = (name: string, ...args: string[]) => ({
      command: NODE,
      args: [
        ...[ENTRY, 'mcp', 'wrap', '--name', name, '--tokens', '200', '--', NODE],
        ...[join(SERVERS, `node_modules/@modelcontextprotocol/server-${name}/dist/index.js`), ...args],
      ],
    });
    const way = CLIENT_RUNS[client]({ model: await model.start(), home, stdio: stdio('memory'), env });
    const files = stdio('filesystem', home);
    const args = [...way.args];
    if (client === 'claude') {
      const at = args.indexOf('--mcp-config') + 1;
      const config = JSON.parse(args[at]!);
      args[at] = JSON.stringify({ mcpServers: { ...config.mcpServers, files: { ...files, env } } });
      args.push('mcp__files');
    } else
      args.splice(
        -1,
        0,
        ...[`command=${JSON.stringify(files.command)}`, `args=${JSON.stringify(files.args)}`, 'required=true']
          .concat('startup_timeout_sec=60', `env.RELAY_HOME=${JSON.stringify(relayHome)}`)
          .flatMap((setting) => ['-c', `mcp_servers.files.${setting}`]),
      );
    const place = { cwd: home, home, env: way.env };
    let { stdout, stderr } = await runClient(found.program, args, place);
    if (client === 'codex') {
      runs++;
      const again = [...args.slice(0, -1), 'resume', '--last', 'write it'];
      ({ stdout, stderr } = await runClient(found.program, again, place));
    }
    assert.equal(answers.length, 2, `${stdout}\n${stderr}`);
    const output = readFileSync(target);
    assert.ok(
      output.length > 300_000,
      `${output.length}: ${output.toString().slice(0, 200)} ${answers[0]!.slice(0, 1_500)}`,
    );
    const graph = { entities: entities.map(({ type: _, ...rest }) => rest), relations: [] };
    assert.deepEqual(JSON.parse(output.toString()), graph);
    assert.equal(output.toString(), JSON.stringify(graph, null, 2));
    const through = await Promise.all([...answers, ...toolArguments].map((text) => countTokens(text)));
    const tokens = through.reduce((sum, count) => sum + count.tokens, 0);
    assert.ok(tokens < 300, `${tokens} tokens`);
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  });
