import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RelayError } from '../base/errors.ts';
import { isJsonObject } from '../base/json.ts';
import { CHANNEL_MESSAGES, CHANNEL_RETENTION_MS, LEASE_MS } from '../base/limits.ts';
import type { ProviderName } from '../runners/provider/provider.ts';
import { isLegacyHome, legacyHint } from './legacy/home.ts';
import {
  atLeast,
  byName,
  list,
  type Option,
  type OptionReader,
  oneOf,
  portNumber,
  text,
  url,
  yesOrNo,
} from './serve/option-readers.ts';
import { SERVER_OPTIONS, serverConfig } from './serve/server-options.ts';
import { findHome, makeHome } from './store/home.ts';

export type Environment = { readonly [name: string]: string | undefined };

const MODEL_PROVIDERS = [
  'anthropic',
  'openai',
  'ollama',
  'compatible',
] as const satisfies readonly ProviderName[];

/**
 * Every option there is, in one table. `<home>/config.json` holds them by name; where `env` is named, that variable
 * wins over the file.
 */
export const OPTIONS = {
  host: {
    env: 'RELAY_HOST',
    default: '127.0.0.1',
    read: text,
    help: 'the address `relay up` listens on; anything but loopback opens it to the network',
  },
  port: {
    env: 'RELAY_PORT',
    default: 7474,
    read: portNumber,
    help: 'the port `relay up` listens on; 0 takes a free one',
  },
  public_url: {
    env: 'RELAY_PUBLIC_URL',
    default: null,
    read: url,
    help: 'what pointers begin with; unless set, http://127.0.0.1:7474 with the port above',
  },
  durability: {
    env: 'RELAY_DURABILITY',
    default: 'power',
    read: oneOf('power', 'process'),
    help: 'what an acknowledged write survives: "power" (fsync before the answer) or "process" (faster)',
  },
  allowed_hosts: {
    env: null,
    default: [],
    read: list,
    help: 'further Host names the server answers to, such as the name of a proxy in front of it',
  },
  channel_retention: {
    env: 'RELAY_CHANNEL_RETENTION',
    default: CHANNEL_RETENTION_MS / 1000,
    read: atLeast(1),
    help: 'seconds that channels keep their messages',
  },
  channel_messages: {
    env: 'RELAY_CHANNEL_MESSAGES',
    default: CHANNEL_MESSAGES,
    read: atLeast(1),
    help: 'messages that a channel keeps, about; work that a group has not done is kept beyond it',
  },
  http_fetch: {
    env: 'RELAY_HTTP_FETCH',
    default: false,
    read: yesOrNo,
    help: 'whether threads may fetch pages of the public internet with the capability http.fetch',
  },
  capabilities: {
    env: null,
    default: [],
    read: list,
    help: 'files that each export a capability, from the home folder on',
  },
  group_lease: {
    env: 'RELAY_GROUP_LEASE',
    default: LEASE_MS / 1000,
    read: atLeast(1),
    help: 'seconds that a member of a group has for a message before another gets it',
  },
  model_provider: {
    env: null,
    default: null,
    read: oneOf(...MODEL_PROVIDERS),
    help: 'who is asked by `relay run` and in pipelines where neither a flag nor RELAY_PROVIDER says so',
  },
  models: {
    env: null,
    default: {},
    read: byName(MODEL_PROVIDERS),
    help: 'which of its models is asked where neither a flag nor RELAY_MODEL says so: {"anthropic": "NAME", …}',
  },
  ...SERVER_OPTIONS,
} as const satisfies { [key: string]: Option };

export type Config = ReturnType<typeof loadConfig>;

/** What a server in the background is started with. */
export function detachedEnvironment(env: Environment, logFile: string): NodeJS.ProcessEnv {
  return { ...env, RELAY_LOG_FILE: logFile, NO_COLOR: '1' };
}

/** Reads the environment and `<home>/config.json`. What it does not know or cannot use is an error that names the place. */
export function loadConfig(env: Environment, flags: { home?: string; url?: string } = {}) {
  const home = findHome(flags.home, env);
  const file = join(home, 'config.json');
  const written = readConfigFile(file);
  const option: OptionReader<typeof OPTIONS> = (key) => {
    const { env: variable, default: fallback, read } = OPTIONS[key];
    const fromEnv = variable === null ? undefined : env[variable] || undefined;
    const value = fromEnv ?? written[key];
    if (value === undefined || value === null) return fallback as never;
    try {
      return read(value) as never;
    } catch (error) {
      const where = fromEnv === undefined ? `${file}, "${key}"` : variable;
      throw new RelayError('bad_config', { where, what: (error as Error).message });
    }
  };
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
  const publicUrl = option('public_url');
  const port = option('port');
  return {
    home,
    host: option('host'),
    port,
    /** What pointers begin with, without a slash at its end. */
    publicUrl: publicUrl ?? `http://127.0.0.1:${port || OPTIONS.port.default}`,
    /** Somebody chose `publicUrl`; otherwise a running server knows better. */
    publicUrlChosen: publicUrl !== null,
    durability: option('durability'),
    allowedHosts: option('allowed_hosts'),
    channels: {
      retentionMs: option('channel_retention') * 1000,
      messages: option('channel_messages'),
      leaseMs: option('group_lease') * 1000,
    },
    httpFetch: option('http_fetch'),
    /** Files of plugins. */
    capabilities: option('capabilities'),
    prompts: { provider: option('model_provider'), models: option('models') },
    server: serverConfig(option),
    /** The server to talk to instead of the local store. */
    remote: remoteUrl(flags.url, env.CONTEXTRELAY_URL),
    apiKey: env.CONTEXTRELAY_API_KEY || null,
    /** Where a detached server's output goes; its parent tells it in RELAY_LOG_FILE. */
    logFile: env.RELAY_LOG_FILE || null,
  };
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
