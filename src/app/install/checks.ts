import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isRelayError } from '../../base/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts';
import { jsonValue, parseJsonText } from '../../formats/json-syntax.ts';
import { readToml } from '../../formats/toml.ts';
import type { HookClient } from '../../interfaces/cli/coding-agents/hook.ts';
import type { Check, InstallReport } from '../../interfaces/cli/host.ts';
import type { Deadline } from '../deadline.ts';
import { findProject } from '../projects/open-project.ts';
import { lostVariables, serverEnvironment } from './client-environment.ts';
import { CLIENTS, type Client, clientPlan, type Places, type Scope, type SettingsTarget } from './clients.ts';
import { isOurServer, ourHandlers } from './entries.ts';
import { type InstallSettings, runInstall } from './installer.ts';
import { fireHooks, listTools } from './trial-runs.ts';
import { codexFolderTrust, codexHookTrust, geminiFolderTrust } from './trust.ts';

/**
 * What of ours is installed in which client, tried out, all of it at once: every hook is fired and its effect looked for, the
 * MCP entry is started and asked for its tools, and what the client has been told to trust is read. Nothing installed,
 * nothing said.
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
  if (scopes.size === 0 || (await findProject(settings.places.project)) !== null) return;
  yield {
    name: 'project files',
    // Who has it in every folder need not have a project in each.
    state: scopes.has('project') ? 'warning' : 'ok',
    found: 'there are none in this folder, so hooks have nothing to tell here',
    fix: 'relay project init',
  };
}

/** A target with what its file says now. */
interface Installed extends SettingsTarget {
  readonly value: JsonObject;
}

/** What came of one hook or server. */
interface Trial {
  /** `hook Stop`, `MCP`. */
  readonly what: string;
  readonly file: string;
  readonly state: Check['state'];
  readonly found: string;
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
    // The skill alone is shared: it does not tell that this client was set up.
    if (!removal.changes.some(({ parts, what }) => !parts.includes('skill') && what !== 'same')) return [];
    report = await runInstall({ client, scope, action: 'add', dryRun: true }, settings);
  } catch (error) {
    if (!isRelayError(error)) throw error;
    return [{ name: '', state: 'wrong', found: error.message, fix: error.hintFor('cli') }];
  }
  const { places, launcher } = settings;
  const installed: Installed[] = [];
  for (const target of clientPlan(client, scope, places, launcher(scope)).targets)
    if (target.kind !== 'skill') installed.push({ ...target, value: await readSettings(target.file) });
  const trials = await Promise.all([
    ...installed.map((target) => tryHooks(client, target, places, deadline)),
    ...installed.map((target) => tryServer(client, target, places, deadline)),
  ]);
  const tried = sameCauses(trials.flat());
  // What is wrong with a file has been said where one of its lines was tried.
  const told = trials.flat().flatMap(({ state, file }) => (state === 'ok' ? [] : [file]));
  const changed = report.changes.filter(({ what }) => what !== 'same' && what !== 'kept');
  const drifted = changed.flatMap(({ path }) => (told.includes(path) ? [] : [path]));
  const files: Check[] =
    drifted.length > 0
      ? [{ name: 'files', state: 'warning', found: `missing or changed: ${drifted.join(', ')}`, fix: again }]
      : changed.length > 0
        ? []
        : [{ name: 'files', state: 'ok', found: `${report.changes.length} files as they should be` }];
  return [
    ...files,
    ...tried.map((check) => (check.state === 'ok' ? check : { ...check, fix: again })),
    ...(await trustChecks(client, scope, installed, places)),
  ];
}

/** One cause, one line. */
function sameCauses(trials: readonly Trial[]): Check[] {
  const causes = Map.groupBy(trials, ({ state, found }) => `${state} ${found}`);
  return [...causes.values()].map((same) => {
    const { state, found } = same[0]!;
    const name = same
      .map(({ what }) => what)
      .join(', ')
      .replaceAll(', hook ', ', ');
    return { name, state, found };
  });
}

async function tryHooks(
  client: Client,
  { file, entries, value }: Installed,
  { env }: Places,
  deadline: Deadline,
): Promise<Trial[]> {
  if (!entries.some(({ kind }) => kind === 'hooks')) return [];
  const hooks = ourHandlers(value, client);
  if (hooks.length === 0) {
    const found = `there are none in ${file}, so a session begins without the brief`;
    return [{ what: 'hooks', file, state: 'warning', found }];
  }
  const fired = await fireHooks(hooks, client as HookClient, env, deadline);
  return fired.map(({ event, fault }) => ({
    what: `hook ${event}`,
    file,
    state: fault === null ? 'ok' : 'wrong',
    found: fault ?? 'fired, and its effect was seen',
  }));
}

async function tryServer(
  client: Client,
  { file, entries, value }: Installed,
  { env, project }: Places,
  deadline: Deadline,
): Promise<Trial[]> {
  const entry = entries.find(({ kind }) => kind === 'mcp');
  if (entry?.kind !== 'mcp') return [];
  const trial = (state: Check['state'], found: string) => [{ what: 'MCP', file, state, found }];
  const server = serverAt(entry.path, value);
  if (server === null) return trial('warning', `no entry in ${file}, so the agent has no tools of relay`);
  const words = [server.command, server.args].flat().filter((word) => typeof word === 'string');
  const [command = '', ...args] = words;
  const given = serverEnvironment(client, server, env);
  try {
    const tools = await listTools({ command, args, cwd: project, env: given }, deadline);
    const lost = lostVariables(given, env);
    if (lost.length === 0) return trial('ok', `started, has ${tools.length} tools: ${tools.join(', ')}`);
    return trial('warning', `started, but ${client} does not hand it ${lost.join(', ')}, as hooks have it`);
  } catch (error) {
    return trial('wrong', (error as Error).message);
  }
}

/** Only what the client itself goes by. Claude Code asks whoever starts it in a new folder, and runs all the same with -p. */
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
    if (asks && geminiFolderTrust(project, folders!) !== 'trusted')
      warn(
        'Gemini CLI reads nothing of a folder that it is not told to trust',
        'start gemini here and trust it',
      );
  }
  if (client !== 'codex') return checks;
  const notes = await readSettings(join(env.CODEX_HOME || join(home, '.codex'), 'config.toml'));
  if (scope === 'project' && codexFolderTrust(project, notes) !== 'trusted')
    warn('Codex reads nothing of a folder that it is not told to trust', 'start codex here and trust it');
  const hooks = installed.flatMap(({ file, value }) => codexHookTrust(file, value, notes));
  const WORDS = {
    trusted: 'trusted by Codex',
    untrusted: 'not trusted yet, and Codex runs no such hook',
    changed: 'changed since they were trusted, and Codex runs no such hook',
    refused: 'switched off in Codex',
  };
  for (const [trust, same] of Map.groupBy(hooks, (hook) => hook.trust)) {
    const found = `hooks ${same.map(({ event }) => event).join(', ')}: ${WORDS[trust]}`;
    if (trust === 'trusted') checks.push({ name: 'trust', state: 'ok', found });
    else warn(found, 'start codex, type /hooks, and trust them');
  }
  return checks;
}

function serverAt(path: readonly string[], value: JsonObject): JsonObject | null {
  let found: Json | undefined = value;
  for (const step of path) found = isJsonObject(found) ? found[step] : undefined;
  return isOurServer(found) ? (found as JsonObject) : null;
}

/** Empty where it cannot be read, which has been told already. */
async function readSettings(file: string): Promise<JsonObject> {
  try {
    const text = await readFile(file, 'utf8');
    const toml = file.endsWith('.toml');
    const value = toml ? readToml(text) : jsonValue(parseJsonText(text, { comments: true }));
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}
