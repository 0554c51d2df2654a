import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { nearest } from '../base/did-you-mean.ts';
import { RelayError } from '../base/errors.ts';
import { isJsonObject } from '../base/json.ts';
import { jsonValue, parseJsonText } from '../formats/json-syntax.ts';
import { isLegacyHome, legacyHint } from './legacy/home.ts';
import { readValue, url } from './option-readers.ts';
import { OPTIONS, type Option } from './options.ts';
import { findHome, makeHome } from './store/home.ts';
import { storeAddress } from './store/remote-engines.ts';
import { agentName } from './store/sessions.ts';

export type Environment = { readonly [name: string]: string | undefined };

/** Parsed values of all options: the configured value or the default. */
type Options = {
  readonly [K in keyof typeof OPTIONS]:
    | ReturnType<(typeof OPTIONS)[K]['read']>
    | Extract<(typeof OPTIONS)[K]['default'], null>;
};

export type Config = ReturnType<typeof loadConfig>;

/**
 * Reads the environment and `<home>/config.json`. The error for an unknown option or an invalid value says
 * where it is set.
 */
export function loadConfig(env: Environment, flags: { home?: string; url?: string } = {}) {
  const home = findHome(flags.home, env);
  const options = readOptions(home, env);
  return {
    ...options,
    home,
    engine: engineAddress(home, env, options),
    /** Base URL of all pointers, without a slash at the end. */
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
    /**
     * URL of the server to use instead of the local store, or null. `relay tee` uses it only if it comes from --url,
     * and `relay mcp wrap` never uses it. Otherwise CONTEXTRELAY_URL could send outputs to another machine.
     */
    remote: remoteUrl(flags.url, env.CONTEXTRELAY_URL),
    apiKey: env.CONTEXTRELAY_API_KEY || null,
    /** Name of the agent that runs this process, or null. */
    agent: agentName(home, env, process.cwd()),
    /** Log file of a server in the background. Its parent process passes the path in RELAY_LOG_FILE. */
    logFile: env.RELAY_LOG_FILE || null,
  };
}

function readOptions(home: string, env: Environment): Options {
  const file = configFile(home);
  const written = readConfigFile(file);
  for (const key of Object.keys(written)) {
    if (Object.hasOwn(OPTIONS, key)) continue;
    if (isLegacyHome(home))
      throw new RelayError('bad_config', {
        where: file,
        what: `it was written by the earlier relay in Go, which owns this folder.`,
        hint: legacyHint(home),
      });
    throw new RelayError('bad_config', {
      where: `${file}, "${key}"`,
      what: 'there is no such option.',
      hint: similarOption(key),
    });
  }
  const values = Object.entries<Option>(OPTIONS).map(([name, option]) => [
    name,
    readOption(name, option, givenValue(name, option, written, env), file),
  ]);
  return Object.fromEntries(values);
}

/** Parses the value of an option. The error for an invalid value says where it is set. */
export function readOption(name: string, option: Option, { from, value }: GivenValue, file: string): unknown {
  if (from === 'default') return value;
  return readValue(from === 'file' ? `${file}, "${name}"` : option.env!, option.read, value);
}

/** Returns why an option does not accept a value, or null if it does. */
export function problemOf(option: Option, value: unknown): string | null {
  try {
    option.read(value);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

/**
 * Returns the value of `engine`, or the content of the file `engine_file`. An environment variable overrides
 * config.json. Throws if one place sets both.
 */
function engineAddress(home: string, env: Environment, options: Options): string | null {
  const { engine, engine_file: file } = options;
  if (file === null) return engine;
  const fromEnv = (name: 'engine' | 'engine_file') => Boolean(env[OPTIONS[name].env]);
  if (engine === null || (fromEnv('engine_file') && !fromEnv('engine')))
    return readEngineFile(resolve(home, file));
  if (fromEnv('engine') && !fromEnv('engine_file')) return engine;
  const what = 'engine and engine_file are both set.';
  throw new RelayError('bad_config', { where: 'engine_file', what, hint: 'Set one of them.' });
}

export function readEngineFile(path: string): string {
  try {
    return storeAddress(readFileSync(path, 'utf8').trim());
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new RelayError('bad_config', {
      where: path,
      what: code ? `it cannot be read (${code}).` : message,
    });
  }
}

export function configFile(home: string): string {
  return join(home, 'config.json');
}

/** Returns a hint that names the option that a mistyped name most likely stands for, or all options. */
export function similarOption(name: string): string {
  const names = Object.keys(OPTIONS);
  const near = nearest(name.replaceAll('-', '_'), names);
  return near ? `Did you mean: ${near}?` : `The options are: ${names.join(', ')}.`;
}

interface GivenValue {
  readonly from: 'environment' | 'file' | 'default';
  readonly value: unknown;
}

/** Returns the unparsed value of an option and its source: environment variable, else file, else default. */
export function givenValue(
  name: string,
  option: Option,
  written: { readonly [key: string]: unknown },
  env: Environment,
): GivenValue {
  const fromEnv = (option.env && env[option.env]) || undefined;
  if (fromEnv !== undefined) return { from: 'environment', value: fromEnv };
  const value = written[name] ?? null;
  return value === null ? { from: 'default', value: option.default } : { from: 'file', value };
}

/** Creates the home and a first configuration file. An existing file stays unchanged. */
export async function initHome(home: string): Promise<{ config: string; written: boolean }> {
  makeHome(home);
  const config = configFile(home);
  if (existsSync(config)) return { config, written: false };
  // Write only the options that people change most. A later version may then change the defaults of all
  // others.
  const first = { host: OPTIONS.host.default, port: OPTIONS.port.default };
  const { writeJsonFile } = await import('./store/atomic-file.ts');
  await writeJsonFile(config, first);
  return { config, written: true };
}

/**
 * Reads a JSON file that may contain comments and trailing commas. Returns an empty object if the file is
 * missing.
 */
export function readConfigFile(file: string): { [key: string]: unknown } {
  const bad = (what: string) => new RelayError('bad_config', { where: file, what });
  let parsed: unknown;
  try {
    parsed = jsonValue(parseJsonText(readFileSync(file, 'utf8'), { comments: true }));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return {};
    throw bad(code ? `it cannot be read (${code}).` : `it is not valid JSON: ${message}`);
  }
  if (!isJsonObject(parsed)) throw bad('it must contain a JSON object.');
  return parsed;
}

function remoteUrl(flag: string | undefined, variable: string | undefined): string | null {
  const address = flag ?? (variable || undefined);
  if (address === undefined) return null;
  try {
    return url(address);
  } catch (error) {
    const where = flag === undefined ? 'CONTEXTRELAY_URL' : '--url';
    throw new RelayError('bad_config', {
      where,
      what: (error as Error).message,
      hint: 'For example: http://127.0.0.1:7474',
    });
  }
}
