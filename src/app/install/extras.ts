import { join } from 'node:path';
import { RelayError } from '../../base/errors.ts';
import { isJsonObject, type Json, type JsonObject, jsonEqual } from '../../base/json.ts';
import { sha256 } from '../../engines/body-hashes.ts';
import { JsonDocument, type JsonPath } from '../../formats/json-document.ts';
import { readToml } from '../../formats/toml.ts';
import type { InstallRequest } from '../../interfaces/cli/host.ts';
import { claudePrefix, MARK } from './claude-prefix.ts';
import { type Client, clientPlan, type Places, type Scope } from './clients.ts';
import { editTomlServer, isOurServer, Occupied } from './entries.ts';
import { type FilePlan, guarded, type Receipts, readText } from './file-plan.ts';
import { hookLine, type Launcher } from './launcher.ts';
import { opencodeTeePlugin } from './opencode-plugin.ts';

type Extra = NonNullable<InstallRequest['extra']>;

interface ExtraSettings {
  readonly places: Places;
  readonly launcher: Launcher;
  readonly receipts: Receipts;
}

/**
 * A change of one file, and how to undo it. An `Edit` only computes texts; `planEdit` decides what is
 * written.
 */
interface Edit {
  readonly path: string;
  readonly executable?: boolean;
  add(text: string): string;
  /**
   * Returns the text without the change. `original` is the text before the change, or null if it is unknown.
   */
  remove(text: string, original: string | null): string;
}

/** Clients in which `--tee` replaces long tool results by excerpts. */
export const TEE_CLIENTS: readonly string[] = ['claude', 'gemini', 'opencode'];

/**
 * Returns the folder for the receipts of an extra feature (`--tee` or `--wrap`). Each feature has its own, so
 * that removing it restores the file as it was before this feature.
 */
export function receiptFolder(extra: Extra): string {
  return join('extras', extra.kind === 'tee' ? 'tee' : `wrap-${sha256(extra.server).slice(0, 12)}`);
}

/** Plans the changes that add or remove an extra feature of a client. */
export async function planExtra(
  extra: Extra,
  { client, action, scope }: Pick<InstallRequest, 'action' | 'scope'> & { readonly client: Client },
  settings: ExtraSettings,
): Promise<{ readonly plans: FilePlan[]; readonly notes: string[] }> {
  const { edits, notes }: { edits: readonly Edit[]; notes: string[] } =
    extra.kind === 'tee'
      ? await teeEdits(client, settings, action)
      : { edits: [await wrapEdit(client, scope, extra.server, settings, action)], notes: [] };
  const plans: FilePlan[] = [];
  for (const edit of edits) {
    const plan = await planEdit(edit, action, settings.receipts);
    if (plan.before !== null || plan.after !== null) plans.push(plan);
  }
  return { plans, notes: action === 'add' ? notes : [] };
}

async function planEdit(edit: Edit, action: 'add' | 'remove', receipts: Receipts): Promise<FilePlan> {
  const { path, executable } = edit;
  const [before, receipt] = [await readText(path), await receipts.get(path)];
  const isUntouched = before !== null && receipt?.after === sha256(before);
  const plan = { path, parts: ['hooks' as const], before, executable };
  return guarded(path, () => {
    if (action === 'add') {
      const after = edit.add(before ?? '');
      // If someone has edited the file since, the original in the receipt lacks the edit and must not be
      // restored.
      const isOriginalKnown = isUntouched || before === null || after === before;
      if (isOriginalKnown) return { ...plan, after, original: receipt?.original ?? null };
      return { ...plan, after, original: receipt === null ? before : edit.remove(before, receipt.original) };
    }
    const original = receipt?.original ?? null;
    if (before === null || isUntouched) return { ...plan, after: original, original };
    const after = edit.remove(before, original);
    return { ...plan, original, after: after.trim() === '' && before.trim() !== '' ? null : after };
  });
}

const PREFIX = 'CLAUDE_CODE_SHELL_PREFIX';

/** Notes of `relay install CLIENT --tee`. */
const TEE_NOTES: { readonly [client: string]: readonly string[] } = {
  claude: [
    'Start Claude Code again. The hook cannot shorten results of MCP tools above 50 000 characters. For these, use: relay install claude --wrap NAME',
  ],
  gemini: ['Start Gemini CLI again.'],
  opencode: ['Start OpenCode again.'],
};

/**
 * Note for Codex, where no safe way to change outputs exists. Rewriting COMMAND to `relay tee -- COMMAND`, or
 * adding `2>&1`, would bypass a rule of the user that forbids COMMAND.
 */
export const CODEX_TEE =
  'Codex lets no other program change the output of its commands. The skill tells the agent to write: COMMAND | relay tee';

async function teeEdits(
  client: Client,
  { places, launcher }: ExtraSettings,
  action: 'add' | 'remove',
): Promise<{ readonly edits: readonly Edit[]; readonly notes: string[] }> {
  const { home, env, platform } = places;
  const hook = (event: string, matcher: string, timeout: number): Pick<Edit, 'add' | 'remove'> => {
    const command = hookLine(launcher, ['tee', 'hook', client], platform);
    const handler = { type: 'command', command, timeout };
    const named = client === 'gemini' ? { name: 'relay tee', ...handler } : handler;
    return {
      add: (text) => {
        const doc = new JsonDocument(removeTeeHooks(text, event), { comments: true });
        return doc.append(['hooks', event], { matcher, hooks: [named] }).text;
      },
      remove: (text) => removeTeeHooks(text, event),
    };
  };
  const notes = [...(TEE_NOTES[client] ?? [])];
  switch (client) {
    case 'claude': {
      if (platform === 'win32') throw refused('--tee does not work for Claude Code on Windows.');
      const folder = env.CLAUDE_CONFIG_DIR || join(home, '.claude');
      const script = join(folder, 'relay-shell-prefix');
      const results = hook('PostToolUse', 'mcp__(?!relay__).*', 10);
      const settings: Edit = {
        path: join(folder, 'settings.json'),
        add: (text) => {
          const doc = new JsonDocument(results.add(text.trim() === '' ? '{}\n' : text));
          const present = doc.get(['env', PREFIX]);
          if (present !== undefined && present !== script)
            throw new Occupied(`"env.${PREFIX}" already names another program`);
          return doc.set(['env', PREFIX], script).text;
        },
        remove: (text, original) => {
          const doc = new JsonDocument(results.remove(text, original));
          if (doc.get(['env', PREFIX]) === script) doc.remove(['env', PREFIX]);
          const hadEnv = jsonObjectOf(original).env !== undefined;
          if (!hadEnv && jsonEqual(doc.get(['env']), {})) doc.remove(['env']);
          return doc.text;
        },
      };
      return { edits: [ownFile(script, claudePrefix(launcher), true), settings], notes };
    }
    case 'gemini': {
      const path = join(home, '.gemini', 'settings.json');
      const { mcpServers } = jsonObjectOf(await readText(path));
      const server = isJsonObject(mcpServers) ? mcpServers.relay : undefined;
      // Gemini CLI calls an MCP tool to show the excerpt. If it had to ask the user first, the model would
      // get an error instead of the output.
      if (action === 'add' && !(isJsonObject(server) && isOurServer(server) && server.trust === true))
        throw refused(
          'Gemini CLI shows an excerpt only if it may call the MCP tools of relay without asking.',
          'Allow it first: relay install gemini --user --approve-tools',
        );
      return { edits: [{ path, ...hook('AfterTool', 'run_shell_command|mcp_(?!relay_).*', 10_000) }], notes };
    }
    case 'opencode': {
      const folder = join(env.XDG_CONFIG_HOME || join(home, '.config'), 'opencode', 'plugins');
      return { edits: [ownFile(join(folder, 'relay-tee.js'), opencodeTeePlugin(launcher))], notes };
    }
    case 'codex':
      return { edits: [], notes: [CODEX_TEE] };
    default:
      throw refused(`relay cannot shorten the outputs of ${client}.`);
  }
}

/** Creates or deletes a file that only relay writes. */
function ownFile(path: string, content: string, executable = false): Edit {
  return {
    path,
    executable,
    add: (text) => {
      if (text !== '' && !text.slice(0, 100).includes(MARK))
        throw new Occupied('another program has a file with this name');
      return content;
    },
    remove: (text) => (text.slice(0, 100).includes(MARK) ? '' : text),
  };
}

/** Removes our handlers that shorten tool results: they run `relay tee hook`. */
function removeTeeHooks(text: string, event: string): string {
  const doc = new JsonDocument(text.trim() === '' ? '{}\n' : text, { comments: true });
  if (!/ tee hook \w+/.test(text)) return doc.text;
  const groups = doc.get(['hooks', event]);
  for (const [index, group] of [...(Array.isArray(groups) ? groups : []).entries()].reverse())
    if (/ tee hook \w+/.test(JSON.stringify(group))) doc.remove(['hooks', event, index]);
  for (const path of [['hooks', event], ['hooks']])
    if (doc.find(path) && Object.keys(doc.get(path) as object).length === 0) doc.remove(path);
  return doc.text;
}

function jsonObjectOf(text: string | null): JsonObject {
  const value = text?.trim() ? new JsonDocument(text, { comments: true }).get() : {};
  return isJsonObject(value) ? value : {};
}

function refused(what: string, hint = 'See the guide: relay help guide output'): RelayError {
  return new RelayError('conflict', { what, hint });
}

/**
 * Returns a shell line that starts an MCP server behind our proxy or, if relay is missing, the server alone.
 */
export function fallbackLine(launcher: Launcher, name: string): string {
  const wrap = [launcher.command, ...launcher.args, 'mcp', 'wrap', '--name', name, '--'];
  const quoted = wrap.map((word) => `'${word.replaceAll("'", `'\\''`)}'`);
  return `command -v ${quoted[0]} >/dev/null 2>&1 && exec ${quoted.join(' ')} "$@"; exec "$@"`;
}

async function wrapEdit(
  client: Client,
  scope: Scope,
  name: string,
  { places, launcher }: ExtraSettings,
  action: 'add' | 'remove',
): Promise<Edit> {
  const targets = clientPlan(client, scope, places, launcher).targets.flatMap((target) =>
    target.kind === 'skill' ? [] : target.entries.map((entry) => ({ ...target, entry })),
  );
  const target = targets.find(({ entry }) => entry.kind === 'mcp');
  if (target?.entry.kind !== 'mcp')
    throw refused(
      `relay does not manage the MCP servers of ${client} in ${scope === 'project' ? 'a project' : 'your own settings'}.`,
      scope === 'project'
        ? 'Use your own settings: --user'
        : 'Use the settings of the project, without --user.',
    );
  const { file: path } = target;
  const text = (await readText(path)) ?? '';
  const parents = target.entry.path.slice(0, -1);
  // Claude Code stores servers of one folder in the user's file, below `projects`. Search both places.
  const candidates: JsonPath[] = [
    [...parents, name],
    ['projects', places.project, ...parents, name],
  ];
  if (target.kind === 'toml') {
    const server = (readToml(text)[String(parents[0])] as JsonObject | undefined)?.[name];
    return {
      path,
      add: (before) =>
        editTomlServer(
          before,
          name,
          wrappedEntry(foundEntry(server, name, path), launcher, name, scope, client),
        ),
      remove: () => {
        throw new Occupied('it was edited after the server was wrapped; restore the entry by hand');
      },
    };
  }
  const at = candidates.find((place) => new JsonDocument(text || '{}', { comments: true }).find(place));
  if (at === undefined) throw missing(name, path, action);
  const open = (content: string) => new JsonDocument(content, { comments: true });
  return {
    path,
    add: (before) => {
      const doc = open(before);
      return doc.set(at, wrappedEntry(foundEntry(doc.get(at), name, path), launcher, name, scope, client))
        .text;
    },
    // If someone edited the file after the server was wrapped, restore only this entry, byte for byte, and
    // keep the edits.
    remove: (content, original) => {
      const [now, old] = [open(content).find(at), original === null ? undefined : open(original).find(at)];
      if (now === undefined || old === undefined || original === null)
        throw new Occupied(`the original entry "${name}" is not known; restore it by hand`);
      return content.slice(0, now.start) + original.slice(old.start, old.end) + content.slice(now.end);
    },
  };
}

/** Returns the settings entry of a server. Throws `not_found` if there is none. */
function foundEntry(server: Json | undefined, name: string, path: string): JsonObject {
  if (!isJsonObject(server)) throw missing(name, path, 'add');
  return server;
}

function missing(name: string, path: string, action: string): RelayError {
  const what = `There is no MCP server "${name}" in ${path}.`;
  return new RelayError('not_found', {
    what,
    hint: `Name one of its servers after --${action === 'add' ? 'wrap' : 'unwrap'}.`,
  });
}

/** Settings of an HTTP server. Wrapping removes them, because a wrapped server is started by a command. */
const HTTP_FIELDS = ['url', 'httpUrl', 'headers', 'type'];

/**
 * Returns the entry of a server behind `relay mcp wrap`. URL and headers of an HTTP server may contain
 * secrets, so they are passed in environment variables: other users can see the arguments of a process.
 */
function wrappedEntry(
  entry: JsonObject,
  launcher: Launcher,
  name: string,
  scope: Scope,
  client: Client,
): JsonObject {
  const { command, args, headers } = entry;
  const line = [command, args ?? []].flat().filter((word) => typeof word === 'string');
  if (line.includes('wrap') && JSON.stringify(line).includes('mcp')) return entry;
  if (isOurServer(entry))
    throw refused(
      'This is the MCP server of relay, which already shortens its results.',
      'Name another server.',
    );
  const variables = client === 'opencode' ? 'environment' : 'env';
  const asEntry = (argv: readonly string[]): JsonObject =>
    client === 'opencode' ? { command: [...argv] } : { command: argv[0]!, args: argv.slice(1) };
  if (line.length > 0)
    return { ...entry, ...asEntry(['sh', '-c', fallbackLine(launcher, name), 'sh', ...line]) };
  const url = entry.url ?? entry.httpUrl;
  if (typeof url !== 'string')
    throw refused(
      `The entry "${name}" has neither a command nor a URL, so relay cannot wrap it.`,
      'Add one of them to the entry, then run the command again.',
    );
  if (scope === 'project')
    throw refused(
      `"${name}" is a server over HTTP in a file of the project. People without relay could not use it if it were wrapped.`,
      'Add the server to your own settings and wrap it there: --user',
    );
  if (client === 'codex')
    throw refused(
      'relay cannot change the entry of an HTTP server in Codex, because Codex stores the headers in several settings.',
      'Replace the entry by a server with the command relay mcp wrap. Set RELAY_MCP_URL and RELAY_MCP_HEADERS in its env.',
    );
  if (entry.type === 'sse')
    throw refused('relay mcp wrap does not support servers of the old SSE transport.');
  const commonFields = Object.entries(entry).filter(([field]) => !HTTP_FIELDS.includes(field));
  return {
    ...(client === 'opencode' ? { type: 'local' } : client === 'gemini' ? {} : { type: 'stdio' }),
    ...Object.fromEntries(commonFields),
    ...asEntry([launcher.command, ...launcher.args, 'mcp', 'wrap', '--name', name]),
    [variables]: {
      ...(isJsonObject(entry[variables]) ? entry[variables] : {}),
      RELAY_MCP_URL: url,
      ...(isJsonObject(headers) ? { RELAY_MCP_HEADERS: JSON.stringify(headers) } : {}),
    },
  };
}
