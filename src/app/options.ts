import { CHANNEL_MESSAGES, CHANNEL_RETENTION_MS, LEASE_MS, MODEL_SILENCE_MS } from '../base/limits.ts';
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
  text,
  url,
  wordList,
  yesOrNo,
} from './option-readers.ts';
import { storeAddress } from './store/remote-engines.ts';

/** The table of all options. `<home>/config.json` holds them by name. The variable `env` overrides the file. */
export const OPTIONS = {
  host: {
    help: 'The address `relay up` listens on; anything but loopback opens it to the network.',
    env: 'RELAY_HOST',
    default: '127.0.0.1',
    read: text,
  },
  port: {
    help: 'The port `relay up` listens on; 0 takes a free one.',
    env: 'RELAY_PORT',
    default: 7474,
    read: portNumber,
  },
  public_url: {
    help: 'What pointers begin with; by default http://127.0.0.1:7474 with the port above.',
    env: 'RELAY_PUBLIC_URL',
    default: null,
    read: url,
  },
  engine: {
    help: 'A NATS cluster that keeps everything, instead of the home folder: nats://a:4222,b:4222,c:4222, with /name for a store of another name.',
    env: 'RELAY_ENGINE',
    default: null,
    read: storeAddress,
    mask: maskPassword,
  },
  engine_file: {
    help: 'A file that holds the address for `engine`, so that its password is in no command line or configuration. A relative path begins at the home folder.',
    env: 'RELAY_ENGINE_FILE',
    default: null,
    read: text,
  },
  blobs: {
    help: 'A bucket for bodies above 1 MiB, beside whichever store: s3://bucket/prefix?endpoint=https://…&region=…; credentials from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.',
    env: 'RELAY_BLOBS',
    default: null,
    read: bucketAddress,
  },
  durability: {
    help: 'What an acknowledged write survives: "power" (fsync before the answer) or "process" (faster).',
    env: 'RELAY_DURABILITY',
    default: 'power',
    read: oneOf('power', 'process'),
  },
  allowed_hosts: {
    help: 'Further Host names the server answers to, such as the name of a proxy in front of it.',
    default: [],
    read: list,
  },
  channel_retention: {
    help: 'Seconds that channels keep their messages.',
    env: 'RELAY_CHANNEL_RETENTION',
    default: CHANNEL_RETENTION_MS / 1000,
    read: atLeast(1),
  },
  channel_messages: {
    help: 'Messages that a channel keeps, about; work that a group has not done is kept beyond it.',
    env: 'RELAY_CHANNEL_MESSAGES',
    default: CHANNEL_MESSAGES,
    read: atLeast(1),
  },
  http_fetch: {
    help: 'Whether threads may fetch pages of the public internet with the capability http.fetch.',
    env: 'RELAY_HTTP_FETCH',
    default: false,
    read: yesOrNo,
  },
  projects: {
    help: 'Folders of projects whose todos, decisions and brief the dashboard shows.',
    default: [],
    read: list,
  },
  capabilities: {
    help: 'Files that each export a capability, from the home folder on.',
    default: [],
    read: list,
  },
  group_lease: {
    help: 'Seconds that a member of a group has for a message before another gets it.',
    env: 'RELAY_GROUP_LEASE',
    default: LEASE_MS / 1000,
    read: atLeast(1),
  },
  model_provider: {
    help: 'Who is asked by `relay run` and in pipelines where neither a flag nor RELAY_PROVIDER says so.',
    default: null,
    read: oneOf(...PROVIDER_NAMES),
  },
  models: {
    help: 'Which of its models is asked where neither a flag nor RELAY_MODEL says so: {"anthropic": "NAME", …}.',
    default: {},
    read: byName(PROVIDER_NAMES),
  },
  model_timeout: {
    help: 'Seconds that a model may send nothing before it is given up; 0 for ever.',
    env: 'RELAY_MODEL_TIMEOUT',
    default: MODEL_SILENCE_MS / 1000,
    read: atLeast(0),
  },
  auth: {
    help: '"keys" or "open"; by default keys where others can reach the relay: on any address but loopback, with a public URL, or behind a trusted proxy.',
    env: 'RELAY_AUTH',
    default: null,
    read: oneOf('open', 'keys'),
  },
  plans: {
    help: 'Plans beside free, pro and team: {"name": {"pushes", "pulls", "keys", "payload_bytes", "ttl_seconds", "storage_bytes"}}.',
    default: {},
    read: plans,
  },
  default_plan: { help: 'The plan of a tenant that was given none.', default: 'free', read: text },
  tls_cert: {
    help: 'A certificate with its chain, in PEM; the server then speaks https.',
    env: 'RELAY_TLS_CERT',
    default: null,
    read: text,
  },
  tls_key: { help: 'The private key of the certificate.', env: 'RELAY_TLS_KEY', default: null, read: text },
  trusted_proxies: {
    help: 'Proxies whose X-Forwarded-For, -Proto and -Host count: addresses, networks such as 10.0.0.0/8, or "loopback".',
    env: 'RELAY_TRUSTED_PROXIES',
    default: [],
    read: wordList,
  },
  loopback_webhooks: {
    help: 'Whether A2A webhooks may be on this machine, where whoever may send tasks then reaches what listens on loopback.',
    env: 'RELAY_LOOPBACK_WEBHOOKS',
    default: false,
    read: yesOrNo,
  },
  cors_origins: {
    help: 'Web pages from elsewhere that may call the relay, such as https://app.example; "*" for all.',
    env: 'RELAY_CORS_ORIGINS',
    default: [],
    read: origins,
  },
  rate_limit_key: {
    help: 'Requests a second of one key, where keys are on; 0 for no limit.',
    default: 100,
    read: atLeast(0),
  },
  rate_limit_address: {
    help: 'Requests a second without a key from one address; 0 for no limit.',
    default: 50,
    read: atLeast(0),
  },
  rate_limit_tenant: {
    help: 'Requests a second of all keys of one tenant together; 0 for no limit.',
    default: 500,
    read: atLeast(0),
  },
  max_connections: { help: 'Connections at once; more are not accepted.', default: 20_000, read: atLeast(0) },
  log_requests: {
    help: 'A log line for every request; by default where keys are on.',
    env: 'RELAY_LOG_REQUESTS',
    default: null,
    read: yesOrNo,
  },
  otlp_endpoint: {
    help: 'Where OpenTelemetry traces are sent (OTLP over HTTP), such as http://127.0.0.1:4318; nowhere by default.',
    env: 'RELAY_OTLP_ENDPOINT',
    default: null,
    read: url,
  },
  metering_file: {
    help: 'A file that usage is appended to, one JSON line per key, operation and day, as it is counted.',
    default: null,
    read: text,
  },
  metering_webhook: {
    help: 'An address that the same usage is posted to.',
    default: null,
    read: url,
    mask: maskPath,
  },
} as const satisfies { [key: string]: Option };

export interface Option {
  /** Description for `relay config` and docs/configuration.md. */
  readonly help: string;
  /** Variable that overrides the file. */
  readonly env?: string;
  readonly default: unknown;
  /** Returns the parsed value, or throws an error that says what it must be. */
  read(value: unknown): unknown;
  /** Masks the secret part of a value for display; by default the whole value is displayed. */
  readonly mask?: (value: string) => string;
}
