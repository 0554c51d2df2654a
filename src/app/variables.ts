import { PROVIDER_LIST, PROVIDERS, type Provider } from '../client/prompts/providers.ts';

export interface Variable {
  readonly name: string;
  readonly help: string;
  /** Displayed as set or not set, never with its value. */
  readonly secret?: true;
}

/** Environment variables besides those of the options in options.ts, in the order of the documentation. */
export const VARIABLES: readonly Variable[] = [
  { name: 'RELAY_HOME', help: 'The folder of the local store and of config.json; `~/.relay` by default.' },
  {
    name: 'CONTEXTRELAY_URL',
    help: 'The relay that commands and the SDK talk to, instead of the local store.',
  },
  { name: 'CONTEXTRELAY_API_KEY', help: 'The API key for that relay.', secret: true },
  { name: 'AWS_ACCESS_KEY_ID', help: 'Who asks the bucket of `blobs`.', secret: true },
  { name: 'AWS_SECRET_ACCESS_KEY', help: 'The secret that belongs to it.', secret: true },
  { name: 'AWS_SESSION_TOKEN', help: 'The token of credentials that end by themselves.', secret: true },
  { name: 'AWS_REGION', help: 'The region of the bucket, where `blobs` names none; us-east-1 by default.' },
  { name: 'AWS_DEFAULT_REGION', help: 'The same, where AWS_REGION is not set.' },
  { name: 'AWS_ENDPOINT_URL_S3', help: 'Where the bucket is, if not at Amazon and `blobs` does not say.' },
  { name: 'AWS_ENDPOINT_URL', help: 'The same, where AWS_ENDPOINT_URL_S3 is not set.' },
  { name: 'RELAY_AGENT', help: 'The name of this agent, for `inbox`, `follow`, tasks and what it writes.' },
  { name: 'RELAY_THREAD', help: 'The thread that is meant where none is named.' },
  {
    name: 'RELAY_HANDOFF',
    help: 'The hand-off that a sub-agent works on; `relay project report` reads it.',
  },
  {
    name: 'RELAY_PROVIDER',
    help: `Who is asked by \`relay run\` and in pipelines: ${PROVIDER_LIST}.`,
  },
  { name: 'RELAY_MODEL', help: 'Which of its models is asked.' },
  { name: 'RELAY_MODEL_URL', help: 'The address of a server that is compatible with OpenAI’s.' },
  { name: 'RELAY_MODEL_KEY', help: 'The key for that server, or for Ollama.', secret: true },
  ...Object.values(PROVIDERS).flatMap(variablesOf),
  {
    name: 'A2A_TOKEN',
    help: 'The bearer token for agents elsewhere, in `relay a2a` and bridges.',
    secret: true,
  },
  {
    name: 'CLAUDE_CONFIG_DIR',
    help: 'Where Claude Code keeps its settings and the states of its sessions, for `relay install claude --user` and `relay bridge start --tmux`.',
  },
  { name: 'CODEX_HOME', help: 'Where `relay install codex --user` finds the settings of Codex.' },
  { name: 'OPENCLAW_STATE_DIR', help: 'The same for OpenClaw.' },
  { name: 'XDG_CONFIG_HOME', help: 'The same for OpenCode and VS Code on Linux.' },
  { name: 'APPDATA', help: 'The same for VS Code on Windows.' },
  { name: 'RELAY_COMMAND', help: 'How this program is called, for the commands that it prints.' },
  { name: 'RELAY_DEBUG', help: 'Set to 1: where an unexpected failure happened.' },
  { name: 'RELAY_LOG_FILE', help: 'Where a server in the background writes; `relay up --detach` sets it.' },
  { name: 'NO_COLOR', help: 'Set to anything: no colours.' },
  { name: 'FORCE_COLOR', help: 'Colours also where the output is no terminal; 0 for none.' },
];

function variablesOf({ key, keyHelp, baseKey, baseHelp }: Provider): Variable[] {
  return [
    ...(key && keyHelp ? [{ name: key, help: keyHelp, secret: true } as const] : []),
    ...(baseHelp ? [{ name: baseKey, help: baseHelp }] : []),
  ];
}
