import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ENTRY, NODE, temporaryHome } from '../cli/program.ts';
import { FakeModel, type Script } from '../clients/fake-model.ts';
import { installedClient, type Ran, runClient } from '../clients/installed-clients.ts';
import { openRestartable } from './restart.ts';

const TOOLS = ['push_context', 'peek_context', 'pull_context'];

/** Configuration of each client for the MCP server and the fake model. */
const CLIENTS = {
  claude: (o: Way) => ({
    args: [
      ...['-p', 'hand it over', '--output-format', 'json', '--strict-mcp-config', '--mcp-config'],
      JSON.stringify({
        mcpServers: { relay: o.url ? { type: 'http', url: o.url } : { ...o.stdio, env: o.env } },
      }),
      ...['--allowedTools', TOOLS.map((name) => `mcp__relay__${name}`).join(',')],
    ],
    env: {
      ANTHROPIC_BASE_URL: o.model,
      ANTHROPIC_API_KEY: 'sk-test',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      // Offer the tools to the model directly, not through a tool search.
      ENABLE_TOOL_SEARCH: 'false',
      MCP_CONNECTION_NONBLOCKING: '0',
      MCP_TIMEOUT: '60000',
    },
  }),
  codex: (o: Way) => {
    const server = o.url
      ? [`mcp_servers.relay.url=${JSON.stringify(o.url)}`]
      : [
          `mcp_servers.relay.command=${JSON.stringify(o.stdio.command)}`,
          `mcp_servers.relay.args=${JSON.stringify(o.stdio.args)}`,
          ...Object.entries(o.env).map(
            ([key, value]) => `mcp_servers.relay.env.${key}=${JSON.stringify(value)}`,
          ),
        ];
    const settings = [
      'model_provider="fake"',
      `model_providers.fake={name="fake",base_url="${o.model}/v1",env_key="OPENAI_API_KEY",wire_api="responses"}`,
      'model="fake"',
      'mcp_servers.relay.startup_timeout_sec=60',
      // Wait for the server. Otherwise the first turn has no tools.
      'mcp_servers.relay.required=true',
      ...server,
    ];
    return {
      args: [
        ...['exec', '--json', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox'],
        ...settings.flatMap((setting) => ['-c', setting]),
        'hand it over',
      ],
      env: { OPENAI_API_KEY: 'x', CODEX_HOME: join(o.home, '.codex') },
    };
  },
};

interface Way {
  readonly model: string;
  readonly home: string;
  /** URL of the HTTP server. Absent for stdio. */
  readonly url?: string;
  readonly stdio: { readonly command: string; readonly args: readonly string[] };
  readonly env: { readonly [name: string]: string };
}

const SECRET = 'the plan is under the third stone';

for (const name of ['claude', 'codex'] as const) {
  for (const way of ['stdio', 'HTTP'] as const) {
    test(`${name} pushes, peeks and pulls over ${way}, also across a restart of the server`, async (t) => {
      const client = installedClient(name);
      if (!('program' in client)) return t.skip(client.missing);
      using home = temporaryHome();
      mkdirSync(join(home.home, '.codex'), { recursive: true });
      await using relay = await openRestartable(join(home.home, 'store'));
      const seen: string[] = [];
      await using model = new FakeModel(handOver(seen, () => relay.restart()));
      const { args, env } = CLIENTS[name]({
        model: await model.start(),
        home: home.home,
        ...(way === 'HTTP' ? { url: `${relay.url}/mcp` } : {}),
        stdio: { command: NODE, args: [ENTRY, 'mcp'] },
        env: { CONTEXTRELAY_URL: relay.url, RELAY_HOME: join(home.home, 'unused') },
      });
      const ran: Ran = await runClient(client.program, args, { cwd: home.home, home: home.home, env });
      const told = `${JSON.stringify(seen)}\n${ran.stdout}\n${ran.stderr}`;
      assert.equal(seen.length, 3, told);
      assert.match(seen[0]!, /\/pull\/[0-9a-f-]{36}/, told);
      assert.match(seen[1]!, /a plan/, told);
      assert.ok(seen[2]!.includes(SECRET), told);
      assert.equal(ran.code, 0, told);
    });
  }
}

/** Pushes, peeks, restarts the server, and pulls. */
function handOver(seen: string[], restart: () => Promise<void>): Script {
  return async (answers) => {
    seen.splice(0, seen.length, ...answers);
    const url = /http:\/\/127\.0\.0\.1:\d+\/pull\/[0-9a-f-]{36}/.exec(answers[0] ?? '')?.[0];
    if (answers.length === 0) return { tool: 'push_context', args: { data: SECRET, summary: 'a plan' } };
    if (answers.length === 1) return { tool: 'peek_context', args: { url } };
    if (answers.length > 2) return { text: 'All is well.' };
    await restart();
    return { tool: 'pull_context', args: { url } };
  };
}
