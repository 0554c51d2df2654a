import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { isRelayError } from '../base/errors.ts';
import { isLoopback } from '../contract/pointer-url.ts';
import { BUILT_IN_PLANS } from '../domain/usage/plans.ts';
import { JsonDocument } from '../formats/json-document.ts';
import type { SettingProblem } from '../interfaces/cli/host.ts';
import {
  type Config,
  configFile,
  type Environment,
  givenValue,
  loadConfig,
  problemOf,
  readConfigFile,
  similarOption,
} from './config.ts';
import { OPTIONS, type Option } from './options.ts';
import { authOf, exposedAs } from './serve/addresses.ts';

/** Returns all problems with the options of a home. `loadConfig` stops at the first one. */
export async function settingProblems(home: string, env: Environment): Promise<SettingProblem[]> {
  const file = configFile(home);
  let written: { [key: string]: unknown };
  try {
    written = readConfigFile(file);
  } catch (error) {
    if (!isRelayError(error, 'bad_config')) throw error;
    return [{ state: 'wrong', where: file, what: error.message.slice(`${file}: `.length) }];
  }
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '{}';
  const document = new JsonDocument(text, { comments: true });
  const inFile = (name: string) =>
    document.find([name]) ? `${file}:${document.place([name]).line}, ${name}` : name;
  const problems: SettingProblem[] = [];
  const note = (state: SettingProblem['state'], where: string, what: string) =>
    problems.push({ state, where, what });
  for (const name of Object.keys(written)) {
    if (!Object.hasOwn(OPTIONS, name))
      note('wrong', inFile(name), `there is no such option. ${similarOption(name)}`);
  }
  for (const [name, option] of Object.entries<Option>(OPTIONS)) {
    const { from, value } = givenValue(name, option, written, env);
    const problem = from === 'default' ? null : problemOf(option, value);
    if (problem !== null) note('wrong', from === 'file' ? inFile(name) : option.env!, problem);
    const hidden = from === 'environment' ? (written[name] ?? null) : null;
    if (hidden === null) continue;
    const hiddenProblem = problemOf(option, hidden);
    if (hiddenProblem !== null) note('wrong', inFile(name), hiddenProblem);
    note('warning', inFile(name), `the variable ${option.env} is set and overrides this value.`);
  }
  if (problems.some(({ state }) => state === 'wrong')) return problems;
  // Each option is valid. Now check them together, as a server does.
  let config: Config;
  try {
    config = loadConfig(env, { home });
  } catch (error) {
    if (!isRelayError(error, 'bad_config')) throw error;
    note('wrong', inFile('engine_file'), String(error.details.what));
    return problems;
  }
  for (const [name, what] of together(config)) note('wrong', inFile(name), what);
  const names = config.allowed_hosts.filter((name) => !isLoopback(name));
  if (names.length > 0 && authOf(config, { host: config.host }) === 'open')
    note(
      'warning',
      inFile('allowed_hosts'),
      `everyone who can reach ${names.join(', ')} can read and write. Set "auth" to "keys" to require API keys.`,
    );
  const exposed = exposedAs(config, { host: config.host });
  if (config.auth === 'open' && exposed !== null)
    note(
      'warning',
      inFile('auth'),
      `everyone who can reach ${exposed} can read and write. Set it to "keys" to require API keys.`,
    );
  return problems;
}

function together(config: Config): [name: keyof typeof OPTIONS, what: string][] {
  const problems: [keyof typeof OPTIONS, string][] = [];
  const plans = { ...BUILT_IN_PLANS, ...config.plans };
  if (!Object.hasOwn(plans, config.default_plan))
    problems.push([
      'default_plan',
      `there is no plan "${config.default_plan}"; the plans are ${Object.keys(plans).join(', ')}.`,
    ]);
  const { tls_cert: cert, tls_key: key } = config;
  if (cert !== null && key === null)
    problems.push(['tls_cert', 'a certificate needs its key; tls_key is missing.']);
  if (cert === null && key !== null)
    problems.push(['tls_key', 'a key needs its certificate; tls_cert is missing.']);
  for (const name of ['tls_cert', 'tls_key'] as const) {
    const path = config[name];
    if (path !== null && !readable(resolve(path))) problems.push([name, `${path} cannot be read.`]);
  }
  for (const file of config.capabilities) {
    if (!readable(resolve(config.home, file))) problems.push(['capabilities', `${file} cannot be read.`]);
  }
  for (const folder of config.projects) {
    if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
      problems.push(['projects', `${folder} is not a folder.`]);
  }
  return problems;
}

function readable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}
