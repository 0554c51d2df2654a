import { PROVIDER_LIST, PROVIDERS, type Provider } from '../client/prompts/providers.ts';

export interface Variable {
  readonly name: string;
  readonly help: string;
  /** True if the value is secret. It is then displayed as `***`. */
  readonly secret?: true;
}

/** All environment variables that are not options in options.ts, in the order of the documentation. */
export const VARIABLES: readonly Variable[] = [
  {
    name: 'RELAY_HOME',
    help: 'The home: the folder with the local store and config.json; `~/.relay` by default.',
  },
  {
    name: 'CONTEXTRELAY_URL',
    help: 'The URL of the relay that commands and the SDK use instead of the local store.',
  },
  { name: 'CONTEXTRELAY_API_KEY', help: 'The API key for that relay.', secret: true },
  { name: 'AWS_ACCESS_KEY_ID', help: 'The access key for the bucket in `blobs`.', secret: true },
  { name: 'AWS_SECRET_ACCESS_KEY', help: 'The secret of AWS_ACCESS_KEY_ID.', secret: true },
  { name: 'AWS_SESSION_TOKEN', help: 'The session token of temporary AWS credentials.', secret: true },
  { name: 'AWS_REGION', help: 'The region of the bucket if `blobs` has none; us-east-1 by default.' },
  { name: 'AWS_DEFAULT_REGION', help: 'The region of the bucket if AWS_REGION is not set.' },
  {
    name: 'AWS_ENDPOINT_URL_S3',
    help: 'The endpoint of the bucket if `blobs` has none; Amazon S3 by default.',
  },
  { name: 'AWS_ENDPOINT_URL', help: 'The endpoint of the bucket if AWS_ENDPOINT_URL_S3 is not set.' },
  {
    name: 'RELAY_AGENT',
    help: 'The name of this agent. `inbox`, `follow` and tasks use it, and messages and threads show it as the author.',
  },
  {
    name: 'RELAY_INBOUND',
    help: 'Whose messages a session sees: `known` (known senders, the default; see `relay help guide agents`), `all` or `none`. Other messages wait in its inbox.',
  },
  {
    name: 'RELAY_CONTINUE',
    help: 'Set it to 1 so that a session that ends its turn continues if messages of other agents wait for it.',
  },
  {
    name: 'RELAY_REMINDER',
    help: 'Minutes between two reminders of the stop hook to run `relay project sync`: 30 by default, or `off`.',
  },
  {
    name: 'RELAY_MCP_URL',
    help: 'The MCP server of `relay mcp wrap` if `--url` is not given.',
    secret: true,
  },
  {
    name: 'RELAY_MCP_HEADERS',
    help: 'HTTP headers that `relay mcp wrap` sends to a server over HTTP, as a JSON object.',
    secret: true,
  },
  { name: 'RELAY_THREAD', help: 'The thread that commands use if none is given.' },
  {
    name: 'RELAY_HANDOFF',
    help: 'The id of the hand-off that a sub-agent works on; `relay project report` uses it.',
  },
  {
    name: 'RELAY_PROVIDER',
    help: `The model provider for \`relay run\` and pipelines, instead of \`model_provider\`: ${PROVIDER_LIST}.`,
  },
  { name: 'RELAY_MODEL', help: 'The model of that provider, instead of the entry in `models`.' },
  { name: 'RELAY_MODEL_URL', help: 'The URL of a server with an OpenAI-compatible API.' },
  {
    name: 'RELAY_MODEL_KEY',
    help: 'The key for the server at RELAY_MODEL_URL, or for Ollama.',
    secret: true,
  },
  ...Object.values(PROVIDERS).flatMap(variablesOf),
  {
    name: 'A2A_TOKEN',
    help: 'The bearer token for remote A2A agents, in `relay a2a` and bridges.',
    secret: true,
  },
  {
    name: 'CLAUDE_CONFIG_DIR',
    help: 'The folder with the settings and session states of Claude Code, for `relay install claude --user` and `relay bridge start --tmux`.',
  },
  {
    name: 'CODEX_HOME',
    help: 'The folder with the settings and sessions of Codex, for `relay install codex --user` and `relay session`.',
  },
  { name: 'GEMINI_CLI_HOME', help: 'The folder that contains `.gemini` of Gemini CLI, for `relay session`.' },
  { name: 'OPENCODE_DB', help: 'The database of OpenCode, for `relay session`.' },
  {
    name: 'OPENCODE_SERVER_PASSWORD',
    help: 'The password of an OpenCode server, with which `relay send` wakes its sessions.',
    secret: true,
  },
  { name: 'OPENCODE_SERVER_USERNAME', help: 'The user of the same server; `opencode` by default.' },
  {
    name: 'XDG_DATA_HOME',
    help: 'The folder that contains the data of OpenCode, for `relay session`; `~/.local/share` by default.',
  },
  {
    name: 'OPENCLAW_STATE_DIR',
    help: 'The folder with the settings of OpenClaw, for `relay install openclaw --user`.',
  },
  {
    name: 'XDG_CONFIG_HOME',
    help: 'The folder with the settings of OpenCode, and of VS Code on Linux, for `relay install … --user`.',
  },
  {
    name: 'APPDATA',
    help: 'The folder with the settings of VS Code on Windows, for `relay install … --user`.',
  },
  {
    name: 'RELAY_TEE',
    help: 'Internal. `relay tee` sets it, so that a `relay tee` inside its command makes no second excerpt.',
  },
  {
    name: 'RELAY_COMMAND',
    help: 'How relay writes its own name in hints and examples, such as `./relay`. By default it is detected.',
  },
  { name: 'RELAY_DEBUG', help: 'Set it to 1 to print the stack trace of an unexpected error.' },
  {
    name: 'RELAY_LOG_FILE',
    help: 'The log file of a server in the background; `relay up --detach` sets it.',
  },
  { name: 'NO_COLOR', help: 'Set it to any value to disable colors.' },
  {
    name: 'FORCE_COLOR',
    help: 'Set it to any value to enable colors even if the output is not a terminal; 0 disables colors.',
  },
];

function variablesOf({ key, keyHelp, baseKey, baseHelp }: Provider): Variable[] {
  return [
    ...(key && keyHelp ? [{ name: key, help: keyHelp, secret: true } as const] : []),
    ...(baseHelp ? [{ name: baseKey, help: baseHelp }] : []),
  ];
}
