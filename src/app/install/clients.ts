import { join } from 'node:path';
import type { JsonObject } from '../../base/json.ts';
import type { Entry } from './entries.ts';
import { type Launcher, shellLine } from './launcher.ts';

export const CLIENTS = ['claude', 'codex', 'gemini', 'opencode', 'openclaw', 'cursor', 'vscode'] as const;
export type Client = (typeof CLIENTS)[number];
export type Scope = 'project' | 'user';
export type Part = 'skill' | 'hooks' | 'mcp';

/** Where things are on this machine. */
export interface Places {
  /** The folder that `--project` means. */
  readonly project: string;
  readonly home: string;
  readonly env: { readonly [name: string]: string | undefined };
  readonly platform: NodeJS.Platform;
}

/** A file or folder of a client that we add to. */
export type Target =
  | { readonly kind: 'skill'; readonly parts: readonly ['skill']; readonly folder: string }
  | {
      readonly kind: 'json';
      readonly parts: readonly Part[];
      readonly file: string;
      /** The client reads this one too; it is meant where it exists. */
      readonly instead?: string;
      readonly entries: readonly Entry[];
      /** Comments and trailing commas are right in this file; elsewhere they are a fault that its owner should see. */
      readonly comments: boolean;
    }
  | {
      readonly kind: 'toml';
      readonly parts: readonly ['mcp'];
      readonly file: string;
      readonly server: Server;
    };

export interface Server {
  readonly command: string;
  readonly args: readonly string[];
}

export interface ClientPlan {
  readonly targets: readonly Target[];
  /** What this client cannot do, or what its user must do. */
  readonly notes: readonly string[];
}

export const SKILL_NAME = 'context-relay';

/** The time limit of a hook: long enough for a machine under load. */
const HOOK_SECONDS = 10;

/** The clients' names of events, and ours. */
const EVENTS = {
  claude: {
    SessionStart: 'session-start',
    UserPromptSubmit: 'prompt-submit',
    PreCompact: 'pre-compact',
    Stop: 'stop',
  },
  codex: {
    SessionStart: 'session-start',
    UserPromptSubmit: 'prompt-submit',
    PreCompact: 'pre-compact',
    Stop: 'stop',
  },
  gemini: {
    SessionStart: 'session-start',
    BeforeAgent: 'prompt-submit',
    PreCompress: 'pre-compact',
    AfterAgent: 'stop',
  },
} as const;

/** The clients that run commands as hooks. */
export type HookClient = keyof typeof EVENTS;

export function clientPlan(client: Client, scope: Scope, places: Places, launcher: Launcher): ClientPlan {
  const { env } = places;
  const ours = scope === 'project';
  const base = ours ? places.project : places.home;
  const server: Server = { command: launcher.command, args: [...launcher.args, 'mcp'] };
  const stdio: JsonObject = { command: server.command, args: [...server.args] };
  const shared = skillIn(base, '.agents', 'skills');
  switch (client) {
    case 'claude': {
      const folder = (!ours && env.CLAUDE_CONFIG_DIR) || join(base, '.claude');
      const servers = ours ? join(base, '.mcp.json') : join(env.CLAUDE_CONFIG_DIR || base, '.claude.json');
      return {
        targets: [
          skillIn(folder, 'skills'),
          json(join(folder, 'settings.json'), [hooksEntry('claude', launcher)]),
          json(servers, [mcp(['mcpServers'], { type: 'stdio', ...stdio })]),
        ],
        notes: ours ? ['Claude Code asks once whether to use the servers in .mcp.json.'] : [],
      };
    }
    case 'codex': {
      const folder = (!ours && env.CODEX_HOME) || join(base, '.codex');
      return {
        targets: [
          shared,
          json(join(folder, 'hooks.json'), [hooksEntry('codex', launcher)]),
          { kind: 'toml', parts: ['mcp'], file: join(folder, 'config.toml'), server },
        ],
        notes: [
          'Codex runs a hook only after you have trusted it: start codex, type /hooks, and trust those of relay.',
          ...(ours ? ['Codex reads the .codex of a folder only when that folder is trusted.'] : []),
        ],
      };
    }
    case 'gemini':
      return {
        targets: [
          shared,
          json(
            join(base, '.gemini', 'settings.json'),
            [hooksEntry('gemini', launcher), mcp(['mcpServers'], stdio)],
            {
              comments: true,
            },
          ),
        ],
        notes: ours ? ['Gemini CLI reads the settings of a folder only when that folder is trusted.'] : [],
      };
    case 'opencode': {
      const folder = ours ? base : join(env.XDG_CONFIG_HOME || join(base, '.config'), 'opencode');
      const value = { type: 'local', command: [server.command, ...server.args], enabled: true };
      const o = { comments: true, instead: join(folder, 'opencode.jsonc') };
      return {
        targets: [shared, json(join(folder, 'opencode.json'), [mcp(['mcp'], value)], o)],
        notes: [NO_HOOKS],
      };
    }
    case 'openclaw': {
      const file = join(env.OPENCLAW_STATE_DIR || join(places.home, '.openclaw'), 'openclaw.json');
      const servers = json(file, [mcp(['mcp', 'servers'], stdio)], { comments: true });
      return {
        targets: ours ? [shared] : [shared, servers],
        notes: [NO_HOOKS, ...(ours ? ['OpenClaw knows MCP servers for the user only: --user adds it.'] : [])],
      };
    }
    case 'cursor': {
      const servers = json(join(base, '.cursor', 'mcp.json'), [mcp(['mcpServers'], stdio)], {
        comments: true,
      });
      return { targets: [shared, servers], notes: [NO_HOOKS] };
    }
    case 'vscode': {
      const file = ours ? join(base, '.vscode', 'mcp.json') : join(codeFolder(places), 'mcp.json');
      const servers = json(file, [mcp(['servers'], { type: 'stdio', ...stdio })], { comments: true });
      return { targets: [shared, servers], notes: [NO_HOOKS] };
    }
  }
}

const NO_HOOKS =
  'There are no hooks for this client: the skill tells the agent when to read and when to sync.';

function skillIn(...folder: string[]): Target {
  return { kind: 'skill', parts: ['skill'], folder: join(...folder, SKILL_NAME) };
}

function json(
  file: string,
  entries: readonly Entry[],
  o: { comments?: boolean; instead?: string } = {},
): Target {
  return { kind: 'json', parts: entries.map(({ kind }) => kind), file, entries, comments: false, ...o };
}

function mcp(path: readonly string[], value: JsonObject): Entry {
  return { kind: 'mcp', path: [...path, 'relay'], value };
}

function hooksEntry(client: HookClient, launcher: Launcher): Entry {
  const events = Object.entries(EVENTS[client]).map(([event, name]) => {
    const command = shellLine(launcher, ['hook', client, name]);
    // Gemini counts in milliseconds and shows the name in its list of hooks.
    const gemini = { name: `relay ${name}`, type: 'command', command, timeout: HOOK_SECONDS * 1000 };
    return [
      event,
      client === 'gemini' ? gemini : { type: 'command', command, timeout: HOOK_SECONDS },
    ] as const;
  });
  return { kind: 'hooks', client, events: Object.fromEntries(events) };
}

function codeFolder({ home, env, platform }: Places): string {
  if (platform === 'win32') return join(env.APPDATA || join(home, 'AppData', 'Roaming'), 'Code', 'User');
  if (platform === 'darwin') return join(home, 'Library', 'Application Support', 'Code', 'User');
  return join(env.XDG_CONFIG_HOME || join(home, '.config'), 'Code', 'User');
}
