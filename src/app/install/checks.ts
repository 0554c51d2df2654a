import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { isRelayError } from '../../base/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts';
import { plainLine } from '../../client/projects/brief.ts';
import { HOOK_EVENTS, type HookClient } from '../../interfaces/cli/commands/hook.ts';
import type { Check, InstallReport } from '../../interfaces/cli/host.ts';
import { plural } from '../../interfaces/cli/human.ts';
import { findProgram } from '../../runners/find-program.ts';
import type { Environment } from '../config.ts';
import type { Deadline } from '../deadline.ts';
import { findProject } from '../projects/project-files.ts';
import { readSettings, repeatedBrief } from './brief-sources.ts';
import {
  CLIENTS,
  type Client,
  clientPlan,
  NO_HOOKS,
  type Places,
  RELAY_VARIABLES,
  type Scope,
  type SettingsTarget,
} from './clients.ts';
import { isOurServer, otherHandlers, ourHandlers, serverCommandLine, splitTools } from './entries.ts';
import { CODEX_TEE } from './extras.ts';
import { type InstallSettings, runInstall } from './installer.ts';
import { isOurProgram, shellLine } from './launcher.ts';
import { fireHooks, listTools } from './trial-runs.ts';
import { codexFolderTrust, codexHookTrust, geminiFolderTrust } from './trust.ts';

/**
 * Checks our entries in the settings of all clients. Runs each hook of this program and looks for its effect,
 * requests the tools of the MCP server, and reads whether the client trusts the folder and our hooks.
 * Commands in the settings are never run, only compared with the command that we would write. Yields nothing
 * if nothing is installed.
 */
export async function* installChecks(settings: InstallSettings, deadline: Deadline): AsyncGenerator<Check> {
  const begun = (['project', 'user'] as const).flatMap((scope) =>
    CLIENTS.map((client) => {
      const name = `${client}, ${scope === 'user' ? 'for you' : 'in this folder'}`;
      return { scope, name, checks: clientChecks(client, scope, settings, deadline) };
    }),
  );
  const scopes = new Set<Scope>();
  for (const { scope, name, checks } of begun) {
    for (const { name: what, ...check } of await checks) {
      scopes.add(scope);
      yield { name: what === '' ? name : `${name}: ${what}`, ...check };
    }
  }
  for (const client of scopes.size === 0 ? [] : CLIENTS) {
    const repeated = await repeatedBrief(client, settings.places, settings.launcher('project'));
    if (repeated !== null) yield { name: `${client}: brief`, state: 'warning', ...repeated };
  }
  if (scopes.size === 0 || (await findProject(settings.places.project)) !== null) return;
  yield {
    name: 'project files',
    // After an installation for the user, missing project files are no warning, because many folders have none.
    state: scopes.has('project') ? 'warning' : 'ok',
    found: 'this folder has none, so hooks have nothing to report here',
    fix: 'relay project init',
  };
}

/** A settings file of a client and its current content. */
interface Installed extends SettingsTarget {
  readonly value: JsonObject;
}

/** Result of checking one hook or server. */
interface Trial {
  /** What was checked, such as `hook Stop` or `MCP`. */
  readonly what: string;
  readonly file: string;
  readonly state: Check['state'];
  readonly found: string;
  /** How to fix the problem. Default: install again. */
  readonly fix?: string;
}

async function clientChecks(
  client: Client,
  scope: Scope,
  settings: InstallSettings,
  deadline: Deadline,
): Promise<Check[]> {
  const again = `relay install ${client}${scope === 'user' ? ' --user' : ''}`;
  let report: InstallReport;
  try {
    const removal = await runInstall({ client, scope, action: 'remove', dryRun: true }, settings);
    // All clients share the skill folder. If only the skill is installed, this client may not be set up at
    // all.
    if (!removal.changes.some(({ parts, what }) => !parts.includes('skill') && what !== 'same')) return [];
    report = await runInstall({ client, scope, action: 'add', dryRun: true }, settings);
  } catch (error) {
    if (!isRelayError(error)) throw error;
    return [{ name: '', state: 'wrong', found: error.message, fix: error.hintFor('cli') }];
  }
  const { places } = settings;
  const launcher = settings.launcher(scope);
  const trying = { client, own: shellLine(launcher, []), places, deadline };
  const installed: Installed[] = [];
  for (const target of clientPlan(client, scope, places, launcher).targets)
    if (target.kind !== 'skill') installed.push({ ...target, value: await readSettings(target.file) });
  const trials = await Promise.all([
    ...installed.map((target) => tryHooks(target, trying)),
    ...installed.map((target) => tryServer(target, trying)),
  ]);
  const trialFindings = sameCauses(trials.flat());
  // Do not also list a file as missing or changed if one of its checks failed.
  const failedFiles = trials.flat().flatMap(({ state, file }) => (state === 'ok' ? [] : [file]));
  const changed = report.changes.filter(({ what }) => what !== 'same' && what !== 'kept');
  const drifted = changed.flatMap(({ path }) => (failedFiles.includes(path) ? [] : [path]));
  const files: Check[] = [];
  if (drifted.length > 0)
    files.push({
      name: 'files',
      state: 'warning',
      found: `missing or changed: ${drifted.join(', ')}`,
      fix: again,
    });
  else if (changed.length === 0)
    files.push({ name: 'files', state: 'ok', found: `${plural(report.changes.length, 'file')} up to date` });
  return [
    ...files,
    ...trialFindings.map((check) => (check.state === 'ok' ? check : { ...check, fix: check.fix ?? again })),
    ...(installed.some(({ parts }) => parts.includes('hooks'))
      ? []
      : [{ name: 'brief', state: 'ok' as const, found: NO_HOOKS }]),
    ...(client === 'codex' ? [{ name: 'tee', state: 'ok' as const, found: CODEX_TEE }] : []),
    ...othersIn(client, installed),
    ...(await trustChecks(client, scope, installed, places)),
  ];
}

/** Merges checks that failed for the same cause, so that the user sees each problem once. */
function sameCauses(trials: readonly Trial[]): Check[] {
  const causes = Map.groupBy(trials, ({ state, found }) => `${state} ${found}`);
  return [...causes.values()].map((same) => {
    const { state, found, fix } = same[0]!;
    const names = same.map(({ what }) => what).join(', ');
    return { name: names.replaceAll(', hook ', ', '), state, found, fix };
  });
}

/** Parameters that are equal for all checks of one client. */
interface Trying {
  readonly client: Client;
  /**
   * Command that new settings would contain. Checks compare the command in the existing settings with this command.
   */
  readonly own: string;
  readonly places: Places;
  readonly deadline: Deadline;
}

async function tryHooks({ file, entries, value, text }: Installed, o: Trying): Promise<Trial[]> {
  const { client, own, deadline } = o;
  const { env } = o.places;
  if (!entries.some(({ kind }) => kind === 'hooks')) return [];
  const hooks = text === undefined ? ourHandlers(value, client) : await pluginHooks(file, text, client);
  if (hooks.length === 0) {
    const found = `${file} has none, so a session starts without the brief`;
    return [{ what: 'hooks', file, state: 'warning', found }];
  }
  const hookNames = Object.keys(HOOK_EVENTS[client as HookClient]);
  const fired = await fireHooks(hookNames, client as HookClient, env, deadline);
  return hooks.map(({ event, name: word, program }) => {
    const unfit = misplaced(event, word, client as HookClient) ?? programFault(program, own, env);
    const fault = unfit ?? wrong(fired.get(word));
    return {
      what: `hook ${event}${word === 'wait' ? ' (in the background)' : ''}`,
      file,
      ...(fault ?? { state: 'ok', found: 'ran and had the expected effect' }),
    };
  });
}

/** Returns the hooks that our plugin runs, or none if the file is missing or differs from our plugin. */
async function pluginHooks(file: string, text: string, client: string) {
  const found = await readFile(file, 'utf8').catch(() => null);
  const [command = '', ...args]: string[] = JSON.parse(/^const RELAY = (.*);$/m.exec(text)?.[1] ?? '[]');
  const program = shellLine({ command, args: args.slice(0, -2) }, []);
  const events = found === text ? HOOK_EVENTS[client as HookClient] : {};
  return Object.entries(events).map(([name, event]) => ({ name, event, program }));
}

async function tryServer({ file, entries, value }: Installed, o: Trying): Promise<Trial[]> {
  const { client, own, deadline } = o;
  const { env, project } = o.places;
  const entry = entries.find(({ kind }) => kind === 'mcp');
  if (entry?.kind !== 'mcp') return [];
  const trial = (state: Check['state'], found: string, fix?: string) => [
    { what: 'MCP', file, state, found, fix },
  ];
  const server = serversAt(entry.path, value).relay;
  if (!isOurServer(server)) return trial('warning', `no entry in ${file}, so the agent has no relay tools`);
  const [command = '', ...args] = splitTools(serverCommandLine(server)).words;
  const fault = programFault(shellLine({ command, args: args.slice(0, -1) }, []), own, env);
  if (fault !== null) return trial(fault.state, fault.found, fault.fix);
  try {
    const tools = await listTools(project, env, deadline);
    const lost = lostVariables(client, server as JsonObject, env);
    if (lost.length === 0) return trial('ok', `started, has ${tools.length} tools: ${tools.join(', ')}`);
    return trial(
      'warning',
      `started, but ${client} passes ${lost.join(', ')} only to hooks, not to this server`,
    );
  } catch (error) {
    return trial('wrong', (error as Error).message);
  }
}

type Fault = Pick<Trial, 'state' | 'found' | 'fix'>;

function wrong(found: string | null | undefined): Fault | null {
  return found ? { state: 'wrong', found } : null;
}

/** Returns a fault if there is no hook `word`, or if the settings run it at the wrong event. */
function misplaced(event: string, word: string, client: HookClient): Fault | null {
  const eventsByWord: { readonly [word: string]: string } = HOOK_EVENTS[client];
  if (eventsByWord[word] === undefined) return wrong(`relay has no hook "${word}"`);
  if (eventsByWord[word] === event) return null;
  const fires = Object.values(eventsByWord).includes(event);
  return wrong(
    `the hook "${word}" is set for ${event}, but belongs to ${eventsByWord[word]}${fires ? '' : `; relay has no hook for the event ${event} of ${client}`}`,
  );
}

/** Matches a command without a path. Such a command also works on other machines. */
const PORTABLE = /^(?:relay|npx (?:-y|--no-install) contextrelay)$/;

/**
 * Returns a fault if the program in a settings line is missing or not ours. Inspects the file of the program
 * but never runs it. The same cause gives the same sentence, so that `sameCauses` can merge faults.
 */
function programFault(program: string, own: string, env: Environment): Fault | null {
  if (program === own) return null;
  const name = firstWord(program);
  const place = isAbsolute(name) ? (existsSync(name) ? name : null) : findProgram(name, env);
  const portable = PORTABLE.test(program);
  if (portable) {
    // Installing again would write a path of this machine into a file that people share, so suggest another
    // fix.
    const fix = `put ${name} on the PATH of the client; see docs/install.md`;
    if (place === null)
      return { state: 'wrong', found: `${name} is not on the PATH, so relay cannot run`, fix };
    if (name !== 'relay' || isOurProgram(place)) return null;
  } else if (isAbsolute(name) && place === null) return wrong(`${name} does not exist`);
  const commandText = plainLine(portable ? place! : program, COMMAND_CHARS);
  return { state: 'warning', found: `${commandText} is not this program, so it was not tested` };
}

function firstWord(line: string): string {
  const [, quoted, bare] = /^\s*(?:"((?:[^"\\]|\\.)*)"|(\S+))/.exec(line) ?? [];
  return quoted?.replace(/\\(.)/g, '$1') ?? bare ?? '';
}

/** Maximum number of characters to print from a command of another program. */
const COMMAND_CHARS = 80;

/** Lists the hooks and MCP servers of other programs in the files with our entries. Runs none of them. */
function othersIn(client: Client, installed: readonly Installed[]): Check[] {
  const named = installed.flatMap(({ entries, value }) =>
    entries.flatMap((entry) => {
      if (entry.kind === 'hooks')
        return otherHandlers(value, client).map(
          ({ event, words }) => `hook ${event} (${plainLine(words, COMMAND_CHARS)})`,
        );
      return Object.entries(serversAt(entry.path, value)).flatMap(([name, server]) => {
        if (name === 'relay' && isOurServer(server)) return [];
        const commandLine =
          serverCommandLine(server).join(' ') ||
          (isJsonObject(server) && String(server.url ?? '')) ||
          'no command';
        return [`server ${plainLine(name, COMMAND_CHARS)} (${plainLine(commandLine, COMMAND_CHARS)})`];
      });
    }),
  );
  return named.length === 0
    ? []
    : [{ name: 'others', state: 'ok', found: `not tested: ${named.join(', ')}` }];
}

/**
 * Checks whether Gemini CLI and Codex trust the folder and our hooks. Claude Code needs no check: it asks the
 * user in a new folder, and with -p it runs hooks without asking.
 */
async function trustChecks(
  client: Client,
  scope: Scope,
  installed: readonly Installed[],
  { env, home, project }: Places,
): Promise<Check[]> {
  const checks: Check[] = [];
  const warn = (found: string, fix: string) => checks.push({ name: 'trust', state: 'warning', found, fix });
  if (client === 'gemini' && scope === 'project') {
    const [own, folders] = await Promise.all(
      ['settings.json', 'trustedFolders.json'].map((name) => readSettings(join(home, '.gemini', name))),
    );
    const { folderTrust } = isJsonObject(own!.security) ? own!.security : {};
    const asks = !isJsonObject(folderTrust) || folderTrust.enabled !== false;
    const found = 'Gemini CLI ignores the settings of a folder that it does not trust';
    if (asks && geminiFolderTrust(project, folders!) !== 'trusted')
      warn(found, 'start gemini in this folder and trust the folder');
  }
  if (client !== 'codex') return checks;
  const notes = await readSettings(join(env.CODEX_HOME || join(home, '.codex'), 'config.toml'));
  if (scope === 'project' && codexFolderTrust(project, notes) !== 'trusted')
    warn(
      'Codex ignores the settings of a folder that it does not trust',
      'start codex in this folder and trust the folder',
    );
  const hooks = installed.flatMap(({ file, value }) => codexHookTrust(file, value, notes));
  const WORDS = {
    trusted: 'trusted by Codex',
    untrusted: 'not trusted yet, so Codex does not run them',
    changed: 'changed since they were trusted, so Codex does not run them',
    refused: 'disabled in Codex',
  };
  for (const [trust, same] of Map.groupBy(hooks, (hook) => hook.trust)) {
    const found = `hooks ${same.map(({ event }) => event).join(', ')}: ${WORDS[trust]}`;
    if (trust === 'trusted') checks.push({ name: 'trust', state: 'ok', found });
    else warn(found, 'start codex, type /hooks, and trust them');
  }
  return checks;
}

/** Returns all MCP servers in the settings by name. `path` is the path of our own server. */
function serversAt(path: readonly string[], value: JsonObject): JsonObject {
  let found: Json | undefined = value;
  for (const step of path.slice(0, -1)) found = isJsonObject(found) ? found[step] : undefined;
  return isJsonObject(found) ? found : {};
}

/**
 * Environment variables that Codex passes to every MCP server. It passes other variables only if the server's entry
 * names them.
 */
const CODEX_GIVES =
  /^(?:HOME|LOGNAME|PATH|SHELL|USER|LANG|LC_ALL|TERM|TMPDIR|TZ|__CF_USER_TEXT_ENCODING|SYSTEMROOT|PATHEXT|COMSPEC|APPDATA|LOCALAPPDATA|USERPROFILE)$/;
/**
 * Matches names of environment variables that Gemini CLI treats as secrets and withholds from MCP servers.
 */
const GEMINI_KEEPS = /TOKEN|SECRET|PASSWORD|PASSWD|KEY|AUTH|CREDENTIAL|CREDS|PRIVATE|CERT/i;

/**
 * Returns the relay variables that the hooks of a client get but its MCP server does not get. These variables select
 * a relay, so the hooks and the server would use different relays.
 */
function lostVariables(client: Client, server: JsonObject, env: Environment): string[] {
  const named = Array.isArray(server.env_vars) ? server.env_vars : [];
  const declared = [server.env, server.environment].find(isJsonObject) ?? {};
  const isGiven = (name: string) => {
    if (client === 'codex') return CODEX_GIVES.test(name) || named.includes(name);
    return client !== 'gemini' || !GEMINI_KEEPS.test(name);
  };
  return RELAY_VARIABLES.filter((name) => {
    const value = name in declared ? expand(String(declared[name]), env) : isGiven(name) ? env[name] : '';
    return (env[name] || '') !== (value || '');
  });
}

/** Expands `$NAME`, `${NAME}` and `${NAME:-default}` as clients do. */
function expand(text: string, env: Environment): string {
  return text.replace(
    /\$(?:(\w+)|\{(\w+)(?::-([^}]*))?\})/g,
    (all, bare, braced, otherwise) => env[bare ?? braced] ?? otherwise ?? all,
  );
}
