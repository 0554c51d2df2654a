import { existsSync, readFileSync } from 'node:fs';
import { RelayError } from '../base/errors.ts';
import type { Json } from '../base/json.ts';
import { orElse } from '../base/or-else.ts';
import { JsonDocument } from '../formats/json-document.ts';
import type { ChangedSetting, Setting, Settings } from '../interfaces/cli/host.ts';
import {
  configFile,
  type Environment,
  givenValue,
  problemOf,
  readConfigFile,
  readOption,
  similarOption,
} from './config.ts';
import { OPTIONS, type Option } from './options.ts';
import { withFileLock } from './projects/project-lock.ts';
import { runningServer } from './serve/pid-file.ts';
import { settingProblems } from './setting-problems.ts';
import { writeAtomically } from './store/atomic-file.ts';
import { makeHome } from './store/home.ts';
import { VARIABLES } from './variables.ts';

/** Mode of config.json: the file may contain the password of a cluster, so only its owner may read it. */
const MODE = 0o600;

/** Reads and changes the options of a home. */
export function openSettings(home: string, env: Environment): Settings {
  const file = configFile(home);
  return {
    file,
    show() {
      const written = readConfigFile(file);
      return Object.keys(OPTIONS).map((name) => settingOf(name, written, env));
    },
    variables: () =>
      VARIABLES.map(({ name, secret, help }) => {
        const value = env[name] || null;
        return { name, value: secret && value !== null ? '***' : value, help };
      }),
    get(name) {
      const option = optionCalled(name);
      const setting = givenValue(name, option, readConfigFile(file), env);
      readOption(name, option, setting, file);
      return setting.value;
    },
    async set(name, values) {
      const option = optionCalled(name);
      const value = values === null ? null : usable(name, option, values);
      makeHome(home);
      const changed = await change(home, (document) =>
        value === null ? document.remove([name]) : document.set([name], value),
      );
      const overridden = option.env !== undefined && Boolean(env[option.env]);
      return {
        name,
        value: (value === null ? option.default : maskValue(option, value)) as Json,
        file,
        changed,
        overridden_by: overridden ? option.env! : null,
        restart: runningServer(home) !== null,
      } satisfies ChangedSetting;
    },
    check: () => settingProblems(home, env),
  };
}

function optionCalled(name: string): Option {
  if (Object.hasOwn(OPTIONS, name)) return OPTIONS[name as keyof typeof OPTIONS];
  throw new RelayError('bad_usage', { what: `There is no option "${name}".`, hint: similarOption(name) });
}

function settingOf(name: string, written: { readonly [key: string]: unknown }, env: Environment): Setting {
  const option: Option = OPTIONS[name as keyof typeof OPTIONS];
  const { from, value } = givenValue(name, option, written, env);
  const row = { name, from, default: option.default, variable: option.env ?? null, help: option.help };
  const problem = from === 'default' ? null : problemOf(option, value);
  if (problem !== null) return { ...row, value: option.default, problem };
  return { ...row, value: maskValue(option, value) };
}

function maskValue(option: Option, value: unknown): unknown {
  return option.mask && typeof value === 'string' ? option.mask(value) : value;
}

/**
 * Converts words of the command line to a value: the first of JSON, text and list that the option accepts.
 */
function usable(name: string, option: Option, values: readonly string[]): Json {
  const [word = ''] = values;
  const readings: Json[] = values.length > 1 ? [[...values]] : [...parsed(word), word, [word]];
  let reason = '';
  for (const reading of readings) {
    const problem = problemOf(option, reading);
    if (problem === null) return reading;
    reason ||= problem;
  }
  throw new RelayError('bad_usage', {
    what: `${name} was not changed: ${reason}`,
    hint: `${option.help} relay config set ${name} --default restores the default.`,
  });
}

function parsed(word: string): Json[] {
  const value: Json = orElse(() => JSON.parse(word), null);
  return value === null ? [] : [value];
}

/**
 * Edits config.json as text, under a lock, so that comments and unknown options stay. Returns whether the
 * file changed.
 */
async function change(home: string, edit: (document: JsonDocument) => JsonDocument): Promise<boolean> {
  const file = configFile(home);
  return withFileLock(`${file}.lock`, { folder: home }, async (held) => {
    // If the JSON of the file is invalid, this throws an error with the name of the file.
    readConfigFile(file);
    const before = existsSync(file) ? readFileSync(file, 'utf8') : '{}\n';
    const { text: after } = edit(new JsonDocument(before, { comments: true }));
    if (after === before) return false;
    await writeAtomically(file, after, { mode: MODE, before: held });
    return true;
  });
}
