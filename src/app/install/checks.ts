import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isRelayError } from '../../base/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts';
import { jsonValue, parseJsonText } from '../../formats/json-syntax.ts';
import { readToml } from '../../formats/toml.ts';
import type { Check, InstallReport } from '../../interfaces/cli/host.ts';
import { CLIENTS, type Client, clientPlan, type Places, type Scope, type SettingsTarget } from './clients.ts';
import { isOurServer, ourHandlers } from './entries.ts';
import { type InstallSettings, runInstall } from './installer.ts';
import { fireHooks, listTools } from './trial-runs.ts';
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
    for (const client of CLIENTS) {
      const name = `${client}, ${scope === 'user' ? 'for you' : 'in this folder'}`;
      for await (const { name: what, ...check } of clientChecks(client, scope, settings))
        yield { name: what === '' ? name : `${name}: ${what}`, ...check };
    }
  }
}

/** A target with what its file says now. */
interface Installed extends SettingsTarget {
  readonly value: JsonObject;
}

async function* clientChecks(client: Client, scope: Scope, settings: InstallSettings): AsyncGenerator<Check> {
  const again = `relay install ${client}${scope === 'user' ? ' --user' : ''}`;
  let report: InstallReport;
  try {
    const removal = await runInstall({ client, scope, action: 'remove', dryRun: true }, settings);
    // The skill alone is shared: it does not tell that this client was set up.
    if (!removal.changes.some(({ parts, what }) => !parts.includes('skill') && what !== 'same')) return;
    report = await runInstall({ client, scope, action: 'add', dryRun: true }, settings);
  } catch (error) {
    if (!isRelayError(error)) throw error;
    yield { name: '', state: 'wrong', found: error.message, fix: error.hintFor('cli') };
    return;
  }
  const drifted = report.changes.filter(({ what }) => what !== 'same' && what !== 'kept');
  yield drifted.length === 0
    ? { name: 'files', state: 'ok', found: `${report.changes.length} files as they should be` }
    : {
        name: 'files',
        state: 'warning',
        found: `missing or changed: ${drifted.map(({ path }) => path).join(', ')}`,
        fix: again,
      };
  const installed: Installed[] = [];
  for (const target of clientPlan(client, scope, settings.places, settings.launcher).targets)
    if (target.kind !== 'skill') installed.push({ ...target, value: await readSettings(target.file) });
  const { env } = settings.places;
  const hooks = installed.flatMap(({ value }) => ourHandlers(value, client));
  for (const { event, fault } of hooks.length === 0 ? [] : await fireHooks(hooks, env)) {
    yield fault === null
      ? { name: `hook ${event}`, state: 'ok', found: 'fired, and its effect was seen' }
      : { name: `hook ${event}`, state: 'wrong', found: fault, fix: again };
  }
  yield* trustChecks(client, scope, installed, settings.places);
  for (const server of installed.flatMap(serverIn)) {
    const [command = '', ...args] = [server.command, server.args]
      .flat()
      .filter((word) => typeof word === 'string');
    try {
      const tools = listTools(command, args, env);
      const found = `started, has ${tools.length} tools: ${tools.join(', ')}`;
      yield { name: 'MCP', state: 'ok', found };
    } catch (error) {
      const found = `${command} ${args.join(' ')}: ${(error as Error).message}`;
      yield { name: 'MCP', state: 'wrong', found, fix: again };
    }
  }
}

async function* trustChecks(
  client: Client,
  scope: Scope,
  installed: readonly Installed[],
  { env, home, project }: Places,
): AsyncGenerator<Check> {
  const tell = (what: string, trust: Trust, fix: string): Check => {
    if (trust === 'trusted') return { name: 'trust', state: 'ok', found: `${what} trusted` };
    const fault = trust === 'changed' ? 'changed since it was trusted' : 'not trusted';
    return { name: 'trust', state: 'warning', found: `${what} ${fault}, so it does nothing`, fix };
  };
  const noted = {
    claude: { file: join(env.CLAUDE_CONFIG_DIR || home, '.claude.json'), trust: claudeFolderTrust },
    codex: { file: join(env.CODEX_HOME || join(home, '.codex'), 'config.toml'), trust: codexFolderTrust },
    gemini: { file: join(home, '.gemini', 'trustedFolders.json'), trust: geminiFolderTrust },
  };
  if (client !== 'claude' && client !== 'codex' && client !== 'gemini') return;
  const { file, trust } = noted[client];
  const asks = client === 'gemini' ? ', if it asks' : '';
  const notes = await readSettings(file);
  if (scope === 'project')
    yield tell('the folder is', trust(project, notes), `start ${client} in this folder and trust it${asks}`);
  if (client !== 'codex') return;
  for (const settings of installed) {
    for (const hook of codexHookTrust(settings.file, settings.value, notes))
      yield tell(`hook ${hook.event} is`, hook.trust, 'start codex, type /hooks, and trust it');
  }
}

function serverIn({ entries, value }: Installed): JsonObject[] {
  return entries.flatMap((entry) => {
    if (entry.kind !== 'mcp') return [];
    let found: Json | undefined = value;
    for (const step of entry.path) found = isJsonObject(found) ? found[step] : undefined;
    return isOurServer(found) ? [found as JsonObject] : [];
  });
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
