import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RelayError } from '../base/errors.ts';
import { isJsonObject } from '../base/json.ts';
import { CHANNEL_MESSAGES, CHANNEL_RETENTION_MS, LEASE_MS, MODEL_SILENCE_MS } from '../base/limits.ts';
import type { ProviderName } from '../runners/provider/provider.ts';
import { isLegacyHome, legacyHint } from './legacy/home.ts';
import {
  atLeast,
  byName,
  list,
  natsAddress,
  oneOf,
  origins,
  plans,
  portNumber,
  text,
  url,
  words,
  yesOrNo,
} from './option-readers.ts';
import { findHome, makeHome } from './store/home.ts';

export type Environment = { readonly [name: string]: string | undefined };

const MODEL_PROVIDERS = [
  'anthropic',
  'openai',
  'gemini',
  'ollama',
  'compatible',
] as const satisfies readonly ProviderName[];

/**
 * Every option there is, in one table. `<home>/config.json` holds them by name; where `env` is named, that variable
 * wins over the file.
 */
export const OPTIONS = {
  /** The address `relay up` listens on; anything but loopback opens it to the network. */
  host: { env: 'RELAY_HOST', default: '127.0.0.1', read: text },
  /** The port `relay up` listens on; 0 takes a free one. */
  port: { env: 'RELAY_PORT', default: 7474, read: portNumber },
  /** What pointers begin with; by default http://127.0.0.1:7474 with the port above. */
  public_url: { env: 'RELAY_PUBLIC_URL', default: null, read: url },
  /** A NATS cluster that keeps everything, instead of the home folder: nats://a:4222,b:4222,c:4222, with /name for a store of another name. */
  engine: { env: 'RELAY_ENGINE', default: null, read: natsAddress },
  /** What an acknowledged write survives: "power" (fsync before the answer) or "process" (faster). */
  durability: { env: 'RELAY_DURABILITY', default: 'power', read: oneOf('power', 'process') },
  /** Further Host names the server answers to, such as the name of a proxy in front of it. */
  allowed_hosts: { default: [], read: list },
  /** Seconds that channels keep their messages. */
  channel_retention: {
    env: 'RELAY_CHANNEL_RETENTION',
    default: CHANNEL_RETENTION_MS / 1000,
    read: atLeast(1),
  },
  /** Messages that a channel keeps, about; work that a group has not done is kept beyond it. */
  channel_messages: { env: 'RELAY_CHANNEL_MESSAGES', default: CHANNEL_MESSAGES, read: atLeast(1) },
  /** Whether threads may fetch pages of the public internet with the capability http.fetch. */
  http_fetch: { env: 'RELAY_HTTP_FETCH', default: false, read: yesOrNo },
  /** Folders of projects whose todos, decisions and brief the dashboard shows. */
  projects: { default: [], read: list },
  /** Files that each export a capability, from the home folder on. */
  capabilities: { default: [], read: list },
  /** Seconds that a member of a group has for a message before another gets it. */
  group_lease: { env: 'RELAY_GROUP_LEASE', default: LEASE_MS / 1000, read: atLeast(1) },
  /** Who is asked by `relay run` and in pipelines where neither a flag nor RELAY_PROVIDER says so. */
  model_provider: { default: null, read: oneOf(...MODEL_PROVIDERS) },
  /** Which of its models is asked where neither a flag nor RELAY_MODEL says so: {"anthropic": "NAME", …}. */
  models: { default: {}, read: byName(MODEL_PROVIDERS) },
  /** Seconds that a model may send nothing before it is given up; 0 for ever. */
  model_timeout: { env: 'RELAY_MODEL_TIMEOUT', default: MODEL_SILENCE_MS / 1000, read: atLeast(0) },
  /** "keys" or "open"; by default open on loopback and keys on every other address. */
  auth: { env: 'RELAY_AUTH', default: null, read: oneOf('open', 'keys') },
  /** Plans beside free, pro and team: {"name": {"pushes", "pulls", "keys", "payload_bytes", "ttl_seconds", "storage_bytes"}}. */
  plans: { default: {}, read: plans },
  /** The plan of a tenant that was given none. */
  default_plan: { default: 'free', read: text },
  /** A certificate with its chain, in PEM; the server then speaks https. */
  tls_cert: { env: 'RELAY_TLS_CERT', default: null, read: text },
  /** The private key of the certificate. */
  tls_key: { env: 'RELAY_TLS_KEY', default: null, read: text },
  /** Proxies whose X-Forwarded-For, -Proto and -Host count: addresses, networks such as 10.0.0.0/8, or "loopback". */
  trusted_proxies: { env: 'RELAY_TRUSTED_PROXIES', default: [], read: words },
  /** Whether A2A webhooks may be on this machine, where whoever may send tasks then reaches what listens on loopback. */
  loopback_webhooks: { env: 'RELAY_LOOPBACK_WEBHOOKS', default: false, read: yesOrNo },
  /** Web pages from elsewhere that may call the relay, such as https://app.example; "*" for all. */
  cors_origins: { env: 'RELAY_CORS_ORIGINS', default: [], read: origins },
  /** Requests a second of one key, where keys are on; 0 for no limit. */
  rate_limit_key: { default: 100, read: atLeast(0) },
  /** Requests a second without a key from one address; 0 for no limit. */
  rate_limit_address: { default: 50, read: atLeast(0) },
  /** Requests a second of all keys of one tenant together; 0 for no limit. */
  rate_limit_tenant: { default: 500, read: atLeast(0) },
  /** Connections at once; more are not accepted. */
  max_connections: { default: 20_000, read: atLeast(0) },
  /** A log line for every request; by default where keys are on. */
  log_requests: { env: 'RELAY_LOG_REQUESTS', default: null, read: yesOrNo },
  /** Where OpenTelemetry traces are sent (OTLP over HTTP), such as http://127.0.0.1:4318; nowhere by default. */
  otlp_endpoint: { env: 'RELAY_OTLP_ENDPOINT', default: null, read: url },
  /** A file that usage is appended to, one JSON line per key, operation and day, as it is counted. */
  metering_file: { default: null, read: text },
  /** An address that the same usage is posted to. */
  metering_webhook: { default: null, read: url },
} as const satisfies { [key: string]: Option };

interface Option {
  readonly env?: string;
  readonly default: unknown;
  /** The value, or throws a sentence that says what it must be. */
  read(value: unknown): unknown;
}

/** What was read of each option, or its default. */
type Options = {
  readonly [K in keyof typeof OPTIONS]:
    | ReturnType<(typeof OPTIONS)[K]['read']>
    | Extract<(typeof OPTIONS)[K]['default'], null>;
};

export type Config = ReturnType<typeof loadConfig>;

/** What a server in the background is started with. */
export function detachedEnvironment(env: Environment, logFile: string): NodeJS.ProcessEnv {
  return { ...env, RELAY_LOG_FILE: logFile, NO_COLOR: '1' };
}

/** Reads the environment and `<home>/config.json`. What it does not know or cannot use is an error that names the place. */
export function loadConfig(env: Environment, flags: { home?: string; url?: string } = {}) {
  const home = findHome(flags.home, env);
  const options = readOptions(home, env);
  return {
    ...options,
    home,
    /** What pointers begin with, without a slash at its end. */
    publicUrl: options.public_url ?? `http://127.0.0.1:${options.port || OPTIONS.port.default}`,
    channels: {
      retentionMs: options.channel_retention * 1000,
      messages: options.channel_messages,
      leaseMs: options.group_lease * 1000,
    },
    prompts: {
      provider: options.model_provider,
      models: options.models,
      timeoutMs: options.model_timeout * 1000,
    },
    /** The server to talk to instead of the local store. */
    remote: remoteUrl(flags.url, env.CONTEXTRELAY_URL),
    apiKey: env.CONTEXTRELAY_API_KEY || null,
    /** Where a detached server's output goes; its parent tells it in RELAY_LOG_FILE. */
    logFile: env.RELAY_LOG_FILE || null,
  };
}

function readOptions(home: string, env: Environment): Options {
  const file = join(home, 'config.json');
  const written = readConfigFile(file);
  for (const key of Object.keys(written)) {
    if (Object.hasOwn(OPTIONS, key)) continue;
    if (isLegacyHome(home))
      throw new RelayError('bad_config', {
        where: file,
        what: `it is not this relay's: the folder belongs to an earlier one, written in Go.`,
        hint: legacyHint(home),
      });
    throw new RelayError('bad_config', {
      where: `${file}, "${key}"`,
      what: 'there is no such option.',
      hint: `The options are: ${Object.keys(OPTIONS).join(', ')}.`,
    });
  }
  const values = Object.entries<Option>(OPTIONS).map(([key, option]) => {
    const fromEnv = (option.env && env[option.env]) || undefined;
    const value = fromEnv ?? written[key] ?? null;
    if (value === null) return [key, option.default];
    try {
      return [key, option.read(value)];
    } catch (error) {
      const where = fromEnv === undefined ? `${file}, "${key}"` : option.env;
      throw new RelayError('bad_config', { where, what: (error as Error).message });
    }
  });
  return Object.fromEntries(values);
}

/** Makes the home and a configuration file to begin with. One that is there is not touched. */
export async function initHome(home: string): Promise<{ config: string; written: boolean }> {
  makeHome(home);
  const config = join(home, 'config.json');
  if (existsSync(config)) return { config, written: false };
  // Only what people change most; all else keeps its default, also when a later version chooses a better one.
  const first = { host: OPTIONS.host.default, port: OPTIONS.port.default };
  const { writeAtomically } = await import('./store/atomic-file.ts');
  await writeAtomically(config, `${JSON.stringify(first, null, 2)}\n`, { mode: 0o600 });
  return { config, written: true };
}

function readConfigFile(file: string): { [key: string]: unknown } {
  const bad = (what: string) => new RelayError('bad_config', { where: file, what });
  let parsed: unknown;
  try {
    parsed = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return {};
    throw bad(code ? `it cannot be read (${code}).` : `it is not valid JSON: ${message}`);
  }
  if (!isJsonObject(parsed)) throw bad('it must hold a JSON object.');
  return parsed;
}

function remoteUrl(flag: string | undefined, variable: string | undefined): string | null {
  const given = flag ?? (variable || undefined);
  if (given === undefined) return null;
  try {
    return url(given);
  } catch (error) {
    const where = flag === undefined ? 'CONTEXTRELAY_URL' : '--url';
    throw new RelayError('bad_config', {
      where,
      what: (error as Error).message,
      hint: 'For example: http://127.0.0.1:7474',
    });
  }
}
