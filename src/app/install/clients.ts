import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '../../base/json.ts';
import { HOOK_EVENTS, type HookClient } from '../../interfaces/cli/commands/hook.ts';
import type { Entry, OurHook } from './entries.ts';
import { hookLine, type Launcher } from './launcher.ts';
import { opencodePlugin } from './opencode-plugin.ts';

export const CLIENTS = ['claude', 'codex', 'gemini', 'opencode', 'openclaw', 'cursor', 'vscode'] as const;
export type Client = (typeof CLIENTS)[number];
export type Scope = 'project' | 'user';
export type Part = 'skill' | Entry['kind'];

/** Folders, environment and platform of this machine. */
export interface Places {
  /** Folder of the project, for the scope `project`. */
  readonly project: string;
  readonly home: string;
  readonly env: { readonly [name: string]: string | undefined };
  readonly platform: NodeJS.Platform;
}

/** A settings file of a client, or its skill folder, to which we add entries or files. */
export type Target = SkillTarget | SettingsTarget;

export interface SkillTarget {
  readonly kind: 'skill';
  readonly parts: readonly ['skill'];
  readonly folder: string;
}

export interface SettingsTarget {
  /**
   * Format of the file: `json`, `jsonc` (with comments and trailing commas), `toml`, or `file`, a file of our
   * own with the content `text`.
   */
  readonly kind: 'json' | 'jsonc' | 'toml' | 'file';
  readonly text?: string;
  readonly parts: readonly Part[];
  readonly file: string;
  readonly entries: readonly Entry[];
}

export interface ClientPlan {
  readonly targets: readonly Target[];
  /** Limits of this client, and steps that the user must take. */
  readonly notes: readonly string[];
}

export const SKILL_NAME = 'context-relay';

/** Timeout of a hook in seconds, long enough for a busy machine. */
const HOOK_SECONDS = 10;
/**
 * Timeout in seconds of the hook `wait`, which waits while a session is idle. The next turn of the session
 * starts it again.
 */
const WAIT_SECONDS = 24 * 3600;

/**
 * Pattern that matches the names of tools that change files, by client. Our OpenCode plugin has its own list.
 */
const EDIT_TOOLS: { readonly [client: string]: string } = {
  claude: 'Edit|Write|NotebookEdit',
  codex: 'apply_patch',
  gemini: 'replace|write_file',
};

/**
 * Environment variables that select the relay and the name of the agent. Some clients pass a variable to an
 * MCP server only if the server's entry names it. The entry contains no values, because the file may be
 * committed.
 */
export const RELAY_VARIABLES = [
  'RELAY_HOME',
  'CONTEXTRELAY_URL',
  'CONTEXTRELAY_API_KEY',
  'RELAY_AGENT',
] as const;
/**
 * Variables for the entry of an MCP server. The client replaces `${NAME:-}` by the value of NAME, or by an
 * empty text.
 */
const EXPANDED = Object.fromEntries(RELAY_VARIABLES.map((name) => [name, `\${${name}:-}`]));

/**
 * Settings that let our MCP tools run without asking the user, by client. `offer` is a note that tells the
 * user about the setting.
 */
export const APPROVALS: {
  readonly [client: string]: { readonly setting: JsonObject; readonly offer: string };
} = {
  codex: {
    setting: { default_tools_approval_mode: 'approve' },
    offer:
      'Codex asks you before it runs a relay tool that writes. codex exec cannot ask, so it rejects these tools. To allow them without asking: relay install codex --approve-tools',
  },
  gemini: {
    setting: { trust: true },
    offer:
      'Gemini CLI asks you before it runs a relay tool. gemini -p cannot ask, so it rejects these tools. To allow them without asking: relay install gemini --approve-tools',
  },
};

export const CODEX_TRUST =
  'Codex runs a hook only after you have trusted it: start codex, type /hooks, and trust the hooks of relay.';
/** Note instead of `CODEX_TRUST` if a hook that was already installed has changed. */
export const CODEX_TRUST_AGAIN =
  'The hooks changed, so Codex runs none of them until you trust them again: start codex, type /hooks, and trust the hooks of relay.';

/**
 * Note for a client without hooks: it cannot give a new session the brief. `relay doctor` shows the note too.
 */
export const NO_HOOKS =
  'This client has no hook that relay can use, so a session starts without the brief. The skill tells the agent to read it.';

export function clientPlan(
  client: Client,
  scope: Scope,
  places: Places,
  launcher: Launcher,
  o: { readonly approveTools?: boolean; readonly tools?: string } = {},
): ClientPlan {
  const { env, home } = places;
  const ours = scope === 'project';
  const base = ours ? places.project : home;
  const tools = o.tools === undefined ? [] : ['--tools', o.tools];
  const stdio = { command: launcher.command, args: [...launcher.args, 'mcp', ...tools] };
  const shared = skillIn(join(base, '.agents'));
  const approval = o.approveTools ? APPROVALS[client]?.setting : {};
  const withoutHooks = (file: string, path: readonly string[], server: JsonObject): ClientPlan => ({
    targets: [shared, settings('jsonc', file, [mcp(path, server)])],
    notes: [NO_HOOKS],
  });
  switch (client) {
    case 'claude': {
      const folder = (!ours && env.CLAUDE_CONFIG_DIR) || join(base, '.claude');
      const servers = ours ? join(base, '.mcp.json') : join(env.CLAUDE_CONFIG_DIR || base, '.claude.json');
      return {
        targets: [
          skillIn(folder),
          settings('json', join(folder, 'settings.json'), [hooksEntry('claude', launcher, places)]),
          settings('json', servers, [mcp(['mcpServers'], { type: 'stdio', ...stdio })]),
        ],
        notes: ours ? ['Claude Code asks once whether to use the servers in .mcp.json.'] : [],
      };
    }
    case 'codex': {
      const folder = (!ours && env.CODEX_HOME) || join(base, '.codex');
      const server = { ...stdio, env_vars: [...RELAY_VARIABLES], ...approval };
      return {
        targets: [
          shared,
          settings('json', join(folder, 'hooks.json'), [hooksEntry('codex', launcher, places)]),
          settings('toml', join(folder, 'config.toml'), [mcp(['mcp_servers'], server)]),
        ],
        notes: [
          APPROVALS.codex!.offer,
          CODEX_TRUST,
          ...(ours ? ['Codex reads the .codex of a folder only when that folder is trusted.'] : []),
        ],
      };
    }
    case 'gemini': {
      const entries = [
        hooksEntry('gemini', launcher, places),
        mcp(['mcpServers'], { ...stdio, env: EXPANDED, ...approval }),
      ];
      return {
        targets: [shared, settings('jsonc', join(base, '.gemini', 'settings.json'), entries)],
        notes: [
          APPROVALS.gemini!.offer,
          ...(ours ? ['Gemini CLI reads the settings of a folder only when that folder is trusted.'] : []),
        ],
      };
    }
    case 'opencode': {
      const folder = ours ? base : join(env.XDG_CONFIG_HOME || join(base, '.config'), 'opencode');
      // OpenCode reads opencode.json and opencode.jsonc. Use opencode.jsonc if it exists.
      const commented = join(folder, 'opencode.jsonc');
      const file = existsSync(commented) ? commented : join(folder, 'opencode.json');
      const command = [stdio.command, ...stdio.args];
      const plugins = join(ours ? join(base, '.opencode') : folder, 'plugins', 'relay.js');
      return {
        targets: [
          shared,
          settings('jsonc', file, [mcp(['mcp'], { type: 'local', command, enabled: true })]),
          {
            ...settings('file', plugins, [{ kind: 'hooks', client, hooks: {} }]),
            text: opencodePlugin(launcher),
          },
        ],
        notes: [],
      };
    }
    case 'openclaw': {
      if (ours) {
        const user = 'OpenClaw supports MCP servers only per user. Add the server with --user.';
        return { targets: [shared], notes: [NO_HOOKS, user] };
      }
      const folder = env.OPENCLAW_STATE_DIR || join(home, '.openclaw');
      return withoutHooks(join(folder, 'openclaw.json'), ['mcp', 'servers'], stdio);
    }
    case 'cursor': {
      const folder = join(base, '.cursor');
      return {
        targets: [
          shared,
          settings('jsonc', join(folder, 'mcp.json'), [mcp(['mcpServers'], stdio)]),
          settings('json', join(folder, 'hooks.json'), [hooksEntry('cursor', launcher, places)]),
        ],
        notes: [],
      };
    }
    case 'vscode': {
      const folder = ours ? join(base, '.vscode') : codeFolder(places);
      const server = settings('jsonc', join(folder, 'mcp.json'), [
        mcp(['servers'], { type: 'stdio', ...stdio }),
      ]);
      // VS Code has no user-level hooks, only hooks of a workspace. So a user-level installation has none.
      if (!ours) return { targets: [shared, server], notes: [NO_HOOKS] };
      const hooks = join(base, '.github', 'hooks', 'relay.json');
      return {
        targets: [shared, server, settings('json', hooks, [hooksEntry('vscode', launcher, places)])],
        notes: ['Hooks are a preview in VS Code: it runs them if chat.useHooks is on.'],
      };
    }
  }
}

function skillIn(folder: string): Target {
  return { kind: 'skill', parts: ['skill'], folder: join(folder, 'skills', SKILL_NAME) };
}

function settings(kind: SettingsTarget['kind'], file: string, entries: readonly Entry[]): SettingsTarget {
  return { kind, parts: entries.map((entry) => entry.kind), file, entries };
}

function mcp(path: readonly string[], value: JsonObject): Entry {
  return { kind: 'mcp', path: [...path, 'relay'], value };
}

function hooksEntry(client: HookClient, launcher: Launcher, { platform }: Places): Entry {
  const events = Object.entries(HOOK_EVENTS[client]);
  const hooks = events.map(([name, event]): [string, OurHook] => {
    const command = hookLine(launcher, ['hook', client, name], platform);
    const handler = { type: 'command', command, timeout: HOOK_SECONDS };
    if (name === 'wait')
      return [name, { event, handler: { ...handler, timeout: WAIT_SECONDS, asyncRewake: true } }];
    const matcher = name === 'pre-edit' ? EDIT_TOOLS[client] : undefined;
    // Gemini CLI expects the timeout in milliseconds and shows `name` in its list of hooks.
    const gemini = { name: `relay ${name}`, ...handler, timeout: HOOK_SECONDS * 1000 };
    return [name, { event, matcher, handler: client === 'gemini' ? gemini : handler }];
  });
  // Omit `wait` on Windows, where a hook line cannot convert its exit code to the code that wakes a session.
  const installed = hooks.filter(([name]) => name !== 'wait' || platform !== 'win32');
  return { kind: 'hooks', client, hooks: Object.fromEntries(installed), ...FLAT[client] };
}

/**
 * Clients whose settings list hook handlers without groups. `fields` are other fields that their file
 * requires.
 */
const FLAT: { readonly [client: string]: { readonly flat: true; readonly fields?: JsonObject } } = {
  cursor: { flat: true, fields: { version: 1 } },
  vscode: { flat: true },
};

function codeFolder({ home, env, platform }: Places): string {
  if (platform === 'win32') return join(env.APPDATA || join(home, 'AppData', 'Roaming'), 'Code', 'User');
  if (platform === 'darwin') return join(home, 'Library', 'Application Support', 'Code', 'User');
  return join(env.XDG_CONFIG_HOME || join(home, '.config'), 'Code', 'User');
}
