import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isRelayError } from '../../base/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts';
import { jsonValue, parseJsonText } from '../../formats/json-syntax.ts';
import type { Check } from '../../interfaces/cli/host.ts';
import { CLIENTS, type Client, clientPlan, type Scope, type Target } from './clients.ts';
import { isOurServer, ourHandlers } from './entries.ts';
import { type InstallReport, type InstallSettings, runInstall } from './installer.ts';
import { readToml } from './toml-server.ts';
import { fireHooks, type InstalledHook, listTools } from './trial-runs.ts';
import {
  claudeFolderTrust,
  codexFolderTrust,
  codexHookTrust,
  geminiFolderTrust,
  type Trust,
} from './trust.ts';

/**
 * What of ours is installed in which client, tried out: every hook is fired and its effect looked for, the MCP entry is
 * started and asked for its tools, and what the client has been told to trust is read. Nothing installed, nothing said.
 */
export async function* installChecks(settings: InstallSettings): AsyncGenerator<Check> {
  for (const scope of ['project', 'user'] as const) {
    for (const client of CLIENTS) yield* clientChecks(client, scope, settings);
  }
}

async function* clientChecks(client: Client, scope: Scope, settings: InstallSettings): AsyncGenerator<Check> {
  const name = `${client}, ${scope === 'user' ? 'for you' : 'in this folder'}`;
  const again = `relay install ${client}${scope === 'user' ? ' --user' : ''}`;
  const { targets } = clientPlan(client, scope, settings.places, settings.launcher);
  let report: InstallReport;
  try {
    const removal = await runInstall({ client, scope, action: 'remove', dryRun: true }, settings);
    // The skill alone is shared: it does not tell that this client was set up.
    if (!removal.changes.some(({ parts, what }) => !parts.includes('skill') && what !== 'same')) return;
    report = await runInstall({ client, scope, action: 'add', dryRun: true }, settings);
  } catch (error) {
    if (!isRelayError(error)) throw error;
    yield { name, state: 'wrong', found: error.message, fix: error.hint };
    return;
  }
  const drifted = report.changes.filter(({ what }) => what !== 'same' && what !== 'kept');
  yield drifted.length === 0
    ? { name: `${name}: files`, state: 'ok', found: `${report.changes.length} files as they should be` }
    : {
        name: `${name}: files`,
        state: 'warning',
        found: `missing or changed: ${drifted.map(({ path }) => path).join(', ')}`,
        fix: again,
      };
  yield* hookChecks(name, client, targets, settings, again);
  yield* trustChecks(name, client, scope, targets, settings);
  yield* serverChecks(name, targets, settings, again);
}

async function* hookChecks(
  name: string,
  client: Client,
  targets: readonly Target[],
  settings: InstallSettings,
  again: string,
): AsyncGenerator<Check> {
  const hooks: InstalledHook[] = [];
  for (const target of targets) {
    if (target.kind === 'json' && target.parts.includes('hooks'))
      for (const { event, handler } of ourHandlers(await readSettings(target.file), client))
        hooks.push({ event, command: handler.command });
  }
  if (hooks.length === 0) return;
  for (const { event, fault } of await fireHooks(hooks, settings.places.env)) {
    yield fault === null
      ? { name: `${name}: hook ${event}`, state: 'ok', found: 'fired, and its effect was seen' }
      : { name: `${name}: hook ${event}`, state: 'wrong', found: fault, fix: again };
  }
}

async function* trustChecks(
  name: string,
  client: Client,
  scope: Scope,
  targets: readonly Target[],
  { places }: InstallSettings,
): AsyncGenerator<Check> {
  const { env, home, project } = places;
  const tell = (what: string, trust: Trust, fix: string): Check =>
    trust === 'trusted'
      ? { name: `${name}: trust`, state: 'ok', found: `${what} trusted` }
      : {
          name: `${name}: trust`,
          state: 'warning',
          found: `${what} ${trust === 'changed' ? 'changed since it was trusted' : 'not trusted'}, so it does nothing`,
          fix,
        };
  if (client === 'codex') {
    const config = await readTomlFile(join(env.CODEX_HOME || join(home, '.codex'), 'config.toml'));
    if (scope === 'project')
      yield tell(
        'the folder is',
        codexFolderTrust(project, config),
        'start codex in this folder and trust it',
      );
    const file = targets.find((target) => target.kind === 'json')!.file;
    for (const { event, trust } of codexHookTrust(file, await readSettings(file), config)) {
      yield tell(`hook ${event} is`, trust, 'start codex, type /hooks, and trust it');
    }
  }
  if (scope === 'user') return;
  if (client === 'gemini') {
    const folders = await readSettings(join(home, '.gemini', 'trustedFolders.json'));
    yield tell(
      'the folder is',
      geminiFolderTrust(project, folders),
      'start gemini in this folder and trust it, if it asks',
    );
  }
  if (client === 'claude') {
    const state = await readSettings(join(env.CLAUDE_CONFIG_DIR || home, '.claude.json'));
    yield tell(
      'the folder is',
      claudeFolderTrust(project, state),
      'start claude in this folder and trust it',
    );
  }
}

async function* serverChecks(
  name: string,
  targets: readonly Target[],
  settings: InstallSettings,
  again: string,
): AsyncGenerator<Check> {
  for (const target of targets) {
    const entry = await serverIn(target);
    if (entry === null) continue;
    const [command = '', ...args] = [entry.command, entry.args]
      .flat()
      .filter((word) => typeof word === 'string');
    try {
      const tools = await listTools({ command, args }, settings.places.env);
      yield {
        name: `${name}: MCP`,
        state: 'ok',
        found: `started, has ${tools.length} tools: ${tools.join(', ')}`,
      };
    } catch (error) {
      yield {
        name: `${name}: MCP`,
        state: 'wrong',
        found: `${command} ${args.join(' ')}: ${(error as Error).message}`,
        fix: again,
      };
    }
  }
}

async function serverIn(target: Target): Promise<JsonObject | null> {
  let entry: Json | undefined;
  if (target.kind === 'toml') {
    const { mcp_servers } = await readTomlFile(target.file);
    entry = isJsonObject(mcp_servers) ? mcp_servers.relay : undefined;
  } else if (target.kind === 'json') {
    const server = target.entries.find(({ kind }) => kind === 'mcp');
    entry = (await readSettings(target.file)) as Json;
    for (const step of server?.kind === 'mcp' ? server.path : ['none'])
      entry = isJsonObject(entry) ? entry[step] : undefined;
  }
  return isOurServer(entry) ? (entry as JsonObject) : null;
}

/** What cannot be read has been told already. */
async function readSettings(file: string): Promise<Json | undefined> {
  try {
    return jsonValue(parseJsonText(await readFile(file, 'utf8'), { comments: true }));
  } catch {
    return undefined;
  }
}

async function readTomlFile(file: string): Promise<JsonObject> {
  try {
    return readToml(await readFile(file, 'utf8'));
  } catch {
    return {};
  }
}
