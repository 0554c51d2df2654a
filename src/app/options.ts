import {
  CHANNEL_MESSAGES,
  CHANNEL_RETENTION_MS,
  LEASE_MS,
  MODEL_SILENCE_MS,
  OUTPUTS_BYTES,
} from '../base/limits.ts';
import { PROVIDER_NAMES } from '../client/prompts/providers.ts';
import {
  atLeast,
  bucketAddress,
  byName,
  list,
  maskPassword,
  maskPath,
  oneOf,
  origins,
  plans,
  portNumber,
  prices,
  text,
  url,
  wordList,
  yesOrNo,
} from './option-readers.ts';
import { storeAddress } from './store/remote-engines.ts';

/**
 * All options. `<home>/config.json` sets them by name, and the environment variable `env` overrides the file.
 */
export const OPTIONS = {
  host: {
    help: 'The address that `relay up` listens on. Any address except loopback opens it to the network.',
    env: 'RELAY_HOST',
    default: '127.0.0.1',
    read: text,
  },
  port: {
    help: 'The port that `relay up` listens on; 0 picks a free port.',
    env: 'RELAY_PORT',
    default: 7474,
    read: portNumber,
  },
  public_url: {
    help: 'The URL that pointers start with; by default http://127.0.0.1 with the `port` of this server.',
    env: 'RELAY_PUBLIC_URL',
    default: null,
    read: url,
  },
  engine: {
    help: 'A NATS cluster that stores all data instead of the home folder: nats://a:4222,b:4222,c:4222. Add /name to use a store with that name.',
    env: 'RELAY_ENGINE',
    default: null,
    read: storeAddress,
    mask: maskPassword,
  },
  engine_file: {
    help: 'A file that contains the address for `engine`. This keeps its password out of command lines and config.json. A relative path starts at the home folder.',
    env: 'RELAY_ENGINE_FILE',
    default: null,
    read: text,
  },
  blobs: {
    help: 'A bucket for payloads larger than 1 MiB; works with every store: s3://bucket/prefix?endpoint=https://…&region=…. The credentials come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.',
    env: 'RELAY_BLOBS',
    default: null,
    read: bucketAddress,
  },
  durability: {
    help: 'What a confirmed write survives: "power" (a power failure; fsync before the answer) or "process" (only a crash of the process; faster).',
    env: 'RELAY_DURABILITY',
    default: 'power',
    read: oneOf('power', 'process'),
  },
  allowed_hosts: {
    help: 'More values of the Host header that the server accepts, such as the name of a proxy in front of it.',
    default: [],
    read: list,
  },
  channel_retention: {
    help: 'Seconds after which channels delete messages.',
    env: 'RELAY_CHANNEL_RETENTION',
    default: CHANNEL_RETENTION_MS / 1000,
    read: atLeast(1),
  },
  channel_messages: {
    help: 'Approximate number of messages that a channel keeps. Messages that a group has not processed yet are kept in addition.',
    env: 'RELAY_CHANNEL_MESSAGES',
    default: CHANNEL_MESSAGES,
    read: atLeast(1),
  },
  output_storage: {
    help: 'Bytes that the outputs stored by `relay tee` may take together. The oldest outputs are deleted first.',
    env: 'RELAY_OUTPUT_STORAGE',
    default: OUTPUTS_BYTES,
    read: atLeast(0),
  },
  sessions: {
    help: 'Whether `relay session`, hand-offs, hooks and MCP may read the transcripts of coding agents on this machine: "on" or "off".',
    env: 'RELAY_SESSIONS',
    default: 'on',
    read: oneOf('on', 'off'),
  },
  http_fetch: {
    help: 'Whether threads may fetch pages from the public internet with the capability http.fetch.',
    env: 'RELAY_HTTP_FETCH',
    default: false,
    read: yesOrNo,
  },
  projects: {
    help: 'Project folders whose todos, decisions and briefs the dashboard shows.',
    default: [],
    read: list,
  },
  capabilities: {
    help: 'Files that each export a capability. Relative paths start at the home folder.',
    default: [],
    read: list,
  },
  group_lease: {
    help: 'Seconds that a member of a group has to process a message before another member gets it.',
    env: 'RELAY_GROUP_LEASE',
    default: LEASE_MS / 1000,
    read: atLeast(1),
  },
  model_provider: {
    help: 'Default provider for `relay run` and pipelines. `--provider` and RELAY_PROVIDER override it.',
    default: null,
    read: oneOf(...PROVIDER_NAMES),
  },
  models: {
    help: 'Default model of each provider. `--model` and RELAY_MODEL override it: {"anthropic": "NAME", …}.',
    default: {},
    read: byName(PROVIDER_NAMES),
  },
  prices: {
    help: 'Prices of models per million tokens, for budgets in pipelines, with the date when you looked them up: {"date": "2026-11-01", "currency": "USD", "models": {"NAME": {"input": 3, "output": 15, "cached_input": 0.3}}}.',
    default: { models: {} },
    read: prices,
  },
  model_timeout: {
    help: 'Seconds without data from a model after which its request fails; 0 for no limit.',
    env: 'RELAY_MODEL_TIMEOUT',
    default: MODEL_SILENCE_MS / 1000,
    read: atLeast(0),
  },
  auth: {
    help: '"keys" requires API keys, "open" does not. The default is keys if others can reach the relay: on any address except loopback, with a public URL that is not loopback, or behind a trusted proxy.',
    env: 'RELAY_AUTH',
    default: null,
    read: oneOf('open', 'keys'),
  },
  plans: {
    help: 'Plans in addition to free, pro, team and unlimited: {"name": {"pushes", "pulls", "keys", "payload_bytes", "ttl_seconds", "storage_bytes"}}. `pulls` is only shown in `relay usage`, not enforced.',
    default: {},
    read: plans,
  },
  default_plan: { help: 'The plan of tenants without a plan of their own.', default: 'free', read: text },
  tls_cert: {
    help: 'A file with the certificate and its chain (PEM). The server then uses https.',
    env: 'RELAY_TLS_CERT',
    default: null,
    read: text,
  },
  tls_key: {
    help: 'A file with the private key of the certificate (PEM).',
    env: 'RELAY_TLS_KEY',
    default: null,
    read: text,
  },
  trusted_proxies: {
    help: 'Proxies whose headers X-Forwarded-For, -Proto and -Host the server trusts: addresses, networks such as 10.0.0.0/8, or "loopback".',
    env: 'RELAY_TRUSTED_PROXIES',
    default: [],
    read: wordList,
  },
  loopback_webhooks: {
    help: 'Whether A2A webhooks may use loopback addresses. If true, every client that may send tasks can send requests to programs on this machine.',
    env: 'RELAY_LOOPBACK_WEBHOOKS',
    default: false,
    read: yesOrNo,
  },
  cors_origins: {
    help: 'Origins of web pages that may call the relay from a browser (CORS), such as https://app.example; "*" for all.',
    env: 'RELAY_CORS_ORIGINS',
    default: [],
    read: origins,
  },
  rate_limit_key: {
    help: 'Requests per second of one key, if API keys are required; 0 for no limit.',
    default: 100,
    read: atLeast(0),
  },
  rate_limit_address: {
    help: 'Requests per second without a key from one address; 0 for no limit.',
    default: 50,
    read: atLeast(0),
  },
  rate_limit_tenant: {
    help: 'Requests per second of all keys of one tenant together; 0 for no limit.',
    default: 500,
    read: atLeast(0),
  },
  max_connections: {
    help: 'Maximum number of open connections; more are rejected.',
    default: 20_000,
    read: atLeast(0),
  },
  log_requests: {
    help: 'Whether the server logs every request. The default is true if API keys are required.',
    env: 'RELAY_LOG_REQUESTS',
    default: null,
    read: yesOrNo,
  },
  otlp_endpoint: {
    help: 'The address that OpenTelemetry traces are sent to (OTLP over HTTP), such as http://127.0.0.1:4318. By default no traces are sent.',
    env: 'RELAY_OTLP_ENDPOINT',
    default: null,
    read: url,
  },
  metering_file: {
    help: 'A file for usage records. The server appends one JSON line whenever it saves new counts of a key, operation and day.',
    default: null,
    read: text,
  },
  metering_webhook: {
    help: 'A URL that the server posts usage to, in the same format as `metering_file`.',
    default: null,
    read: url,
    mask: maskPath,
  },
} as const satisfies { [key: string]: Option };

export interface Option {
  /** Description for `relay config` and docs/configuration.md. */
  readonly help: string;
  /** Environment variable that overrides the file. */
  readonly env?: string;
  readonly default: unknown;
  /** Returns the parsed value, or throws an error that says which values are valid. */
  read(value: unknown): unknown;
  /** Masks the secret part of a value for display. Without `mask`, the whole value is displayed. */
  readonly mask?: (value: string) => string;
}
