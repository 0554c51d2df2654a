import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Addresses of the model and of the relay's MCP server, for the settings of a client. */
export interface Way {
  readonly model: string;
  readonly home: string;
  /** URL of the HTTP server. Absent for stdio. */
  readonly url?: string;
  readonly stdio: { readonly command: string; readonly args: readonly string[] };
  readonly env: { readonly [name: string]: string };
}

interface ClientRun {
  readonly args: readonly string[];
  readonly env: { readonly [name: string]: string };
}

/** Returns how to run each client with the MCP server and the fake model. Writes files if the client needs them. */
export const CLIENT_RUNS = {
  claude: (o: Way): ClientRun => ({
    args: [
      ...['-p', 'hand it over', '--output-format', 'json', '--strict-mcp-config', '--mcp-config'],
      JSON.stringify({
        mcpServers: { relay: o.url ? { type: 'http', url: o.url } : { ...o.stdio, env: o.env } },
      }),
      ...['--allowedTools', 'mcp__relay'],
    ],
    env: {
      ANTHROPIC_BASE_URL: o.model,
      ANTHROPIC_API_KEY: 'sk-test',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      // Makes Claude Code offer the tools to the model directly, not through a tool search.
      ENABLE_TOOL_SEARCH: 'false',
      MCP_CONNECTION_NONBLOCKING: '0',
      MCP_TIMEOUT: '60000',
    },
  }),
  codex: (o: Way): ClientRun => {
    mkdirSync(join(o.home, '.codex'), { recursive: true });
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
      // Makes Codex wait for the server. Otherwise the first turn has no tools.
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
  gemini: (o: Way): ClientRun => {
    const folder = join(o.home, '.gemini');
    mkdirSync(folder, { recursive: true });
    const server = o.url ? { httpUrl: o.url } : { ...o.stdio, env: o.env };
    const settings = {
      security: { auth: { selectedType: 'gemini-api-key' } },
      mcpServers: { relay: { ...server, timeout: 60_000 } },
    };
    writeFileSync(join(folder, 'settings.json'), JSON.stringify(settings));
    writeFileSync(join(folder, 'trustedFolders.json'), JSON.stringify({ [o.home]: 'TRUST_FOLDER' }));
    return {
      args: ['-p', 'hand it over', '-o', 'stream-json', '--approval-mode', 'yolo', '-m', 'gemini-2.5-pro'],
      env: { GOOGLE_GEMINI_BASE_URL: o.model, GEMINI_API_KEY: 'x' },
    };
  },
  opencode: (o: Way): ClientRun => {
    const { command, args } = o.stdio;
    const server = o.url
      ? { type: 'remote', url: o.url }
      : { type: 'local', command: [command, ...args], environment: o.env };
    const options = { baseURL: `${o.model}/v1`, apiKey: 'x' };
    const models = { fake: { name: 'fake', tool_call: true, limit: { context: 200_000, output: 8_000 } } };
    const config = {
      autoupdate: false,
      share: 'disabled',
      model: 'fake/fake',
      small_model: 'fake/fake',
      provider: { fake: { npm: '@ai-sdk/anthropic', name: 'fake', options, models } },
      mcp: { relay: { ...server, enabled: true, timeout: 60_000 } },
      permission: { '*': 'allow' },
    };
    writeFileSync(join(o.home, 'opencode.json'), JSON.stringify(config));
    return {
      args: ['run', '--format', 'json', 'hand it over'],
      env: { OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1' },
    };
  },
};
