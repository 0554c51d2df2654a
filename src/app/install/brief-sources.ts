import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isJsonObject, type JsonObject } from '../../base/json.ts';
import { jsonValue, parseJsonText } from '../../formats/json-syntax.ts';
import { readToml } from '../../formats/toml.ts';
import { type Client, clientPlan, type Places } from './clients.ts';
import { ourHandlers, ourHook } from './entries.ts';
import type { Launcher } from './launcher.ts';
import { isOurPlugin } from './opencode-plugin.ts';

/**
 * A hook or plugin that gives sessions the brief (the summary of a project), and the command that removes it.
 */
interface BriefSource {
  readonly what: string;
  readonly remove: string;
  /**
   * Command line of the hook, or a text that identifies the plugin. Claude Code runs an identical command line only
   * once, even if several settings files have it.
   */
  readonly command: string;
}

/**
 * Checks whether sessions of a client get the brief twice: from a plugin and from `relay install`, or from an
 * installation for the user and an installation for the folder. Returns the problem and its fix, or null.
 */
export async function repeatedBrief(
  client: Client,
  places: Places,
  launcher: Launcher,
): Promise<{ readonly found: string; readonly fix: string } | null> {
  const installed: BriefSource[] = [];
  for (const scope of ['project', 'user'] as const) {
    const flag = scope === 'user' ? ' --user' : '';
    for (const target of clientPlan(client, scope, places, launcher).targets) {
      if (target.kind === 'skill' || !target.parts.includes('hooks')) continue;
      const command = await briefCommand(client, target.file);
      const what = `relay install ${client}${flag}`;
      if (command !== null) installed.push({ what, remove: `${what} --remove`, command });
    }
  }
  const once = installed.filter(
    ({ command }, index) =>
      client !== 'claude' || installed.findIndex((each) => each.command === command) === index,
  );
  const sources = [...once, ...(await pluginSources(client, places))];
  if (sources.length < 2) return null;
  const found = `the brief comes ${sources.length} times: from ${sources.map(({ what }) => what).join(' and ')}`;
  return { found, fix: `remove one: ${sources.map(({ remove }) => remove).join(', or ')}` };
}

/** Returns the command in a settings file that prints the brief, or null if there is none. */
async function briefCommand(client: Client, file: string): Promise<string | null> {
  if (file.endsWith('.js')) {
    const text = await readFile(file, 'utf8').catch(() => '');
    return isOurPlugin(text) ? text : null;
  }
  const commands = ourHandlers(await readSettings(file), client).map(({ handler }) => handler.command);
  return commands.find((command) => ourHook(command, client)?.name === 'session-start') ?? null;
}

/** Name of our plugin for Claude Code and of our extension for Gemini CLI. */
const PLUGIN = 'context-relay';

async function pluginSources(client: Client, { home, project, env }: Places): Promise<BriefSource[]> {
  if (client === 'claude') {
    const files = [
      join(env.CLAUDE_CONFIG_DIR || join(home, '.claude'), 'settings.json'),
      join(project, '.claude', 'settings.json'),
      join(project, '.claude', 'settings.local.json'),
    ];
    const enabled = new Map<string, boolean>();
    for (const file of files) {
      const { enabledPlugins } = await readSettings(file);
      for (const [name, on] of Object.entries(isJsonObject(enabledPlugins) ? enabledPlugins : {}))
        if (name.startsWith(`${PLUGIN}@`)) enabled.set(name, on !== false);
    }
    return [...enabled].flatMap(([name, on]) =>
      on ? [{ what: `the plugin ${name}`, remove: `claude plugin uninstall ${name}`, command: name }] : [],
    );
  }
  if (client !== 'gemini') return [];
  const folder = join(home, '.gemini', 'extensions');
  const names = await readdir(folder).catch(() => []);
  const manifests = await Promise.all(
    names.map((name) => readSettings(join(folder, name, 'gemini-extension.json'))),
  );
  return manifests.flatMap(({ name }) =>
    name === PLUGIN
      ? [{ what: `the extension ${name}`, remove: `gemini extensions uninstall ${name}`, command: name }]
      : [],
  );
}

/** Reads a settings file. Returns an empty object if the file is missing or invalid. */
export async function readSettings(file: string): Promise<JsonObject> {
  try {
    const text = await readFile(file, 'utf8');
    const toml = file.endsWith('.toml');
    const value = toml ? readToml(text) : jsonValue(parseJsonText(text, { comments: true }));
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}
