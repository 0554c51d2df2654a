import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type JsonObject, jsonObjectIn } from '../../base/json.ts';

/**
 * How to recognize a coding agent in a terminal, and whether it works, waits for input or asks a person. Plain data:
 * `agents.json` in the relay's home has the same shape, by name. Patterns are regular expressions, matched against the
 * terminal's title and against its screen without trailing blank lines, so `$` is the end of the screen.
 */
export interface AgentProfile {
  /** Matches the name of the running program. */
  readonly command?: string;
  /** Matches the screen of a program with an unspecific name, such as `node`. */
  readonly screen?: string;
  /** Matches while the agent works. */
  readonly busy?: string;
  /** Matches while the agent waits for input. Tasks are pasted, and end, only while it matches. */
  readonly ready?: string;
  /** Matches while the agent waits for a person's decision. The first group is the question. */
  readonly asks?: string;
  /** The program also writes its state to a file, which is more reliable than the screen. Claude Code does. */
  readonly status?: 'claude-code';
  /** Matches what the screen shows instead of a long paste. */
  readonly pasted?: string;
  /** True if a multi-line paste stays one input until Enter. Otherwise the agent gets one line with the pointer. */
  readonly multiline?: boolean;
  /** The key that stops the work but not the program. Without one, nothing is sent. */
  readonly interrupt?: string;
  /** How long the screen must be unchanged before it is evaluated. */
  readonly settle_ms?: number;
  /** Time without a change of the screen after which a task is reported as stuck. `--stuck-after` overrides it. */
  readonly quiet_ms?: number;
}

/** A line that is a rule or the top of a box. Patterns start at a line, so that matching stays linear. */
const RULE = '(?:^|\\n)[╭ ]*─{8}[^\\n]*\\n';
const ANSWER_KEYS = '(?:Esc to cancel|Enter to (?:confirm|select))[^\\n]*$';

export const PROFILES: { readonly [name: string]: AgentProfile } = {
  codex: {
    command: '^codex',
    screen: 'OpenAI Codex|⏎ send',
    busy: 'esc to interrupt|^[⠀-⣿] ',
    // The last prompt sign on the screen belongs to the input box.
    ready: '(?:^|\\n)[›▌][^›▌]*$',
    asks:
      '^[^]*\\n *((?:Would you like|Do you want|Allow |Trust )[^]*?)\\n *› *\\d+\\. [^›]*(?:enter|esc)[^\\n]*$' +
      '|› *\\d+\\. [^›]*(?:enter|esc)[^\\n]*$|^\\[ . \\] Action Required',
    pasted: '\\[Pasted Content \\d+ chars\\]',
    multiline: true,
    interrupt: 'Escape',
  },
  gemini: {
    command: '^gemini',
    screen: 'Gemini CLI|Type your message or @path',
    busy: 'esc to cancel|^✦ +Working',
    // The input box at the bottom, followed by at most the footer's lines.
    ready: '▄{8}▄*\\n *[>!*] [^▄▀]*\\n▀{8}▀*(?:\\n[^\\n▀]*){0,4}$|Type your message',
    asks: '╭[^╭]*(?:╭[^╭╯]*╯[^╭]*)?● \\d+\\. [^●]*╯$|^✋ +Action Required',
    pasted: '\\[Pasted Text: \\d+',
    multiline: true,
    interrupt: 'Escape',
  },
  opencode: {
    command: '^opencode',
    screen: 'opencode',
    busy: 'esc (?:again to )?interrupt',
    ready: 'ctrl\\+p commands',
    asks: '△ Permission required([^△]*?)Allow once',
    pasted: '\\[Pasted ~?\\d+ lines',
    multiline: true,
    interrupt: 'Escape',
  },
  aider: {
    command: '^aider',
    screen: 'Aider v\\d',
    busy: 'Waiting for |[░█]{2,}',
    ready: '(?:^|\\n)(?:\\w+ )?(?:multi)?>$',
    asks: '(?:^|\\n)([^\\n]*) \\(Y\\)es/\\(N\\)o[^\\n]*$',
    multiline: true,
    interrupt: 'C-c',
  },
  claude: {
    command: '^claude',
    // Codex and Gemini CLI show the shortcuts too, so this profile comes after theirs.
    screen: 'Claude Code|\\? for shortcuts',
    busy: 'esc to interrupt',
    // The input box: the prompt sign between the last two horizontal lines.
    ready: `${RULE}[│ ]*[❯>!](?![ \\u00a0]*\\d+\\. )[^─]*\\n[^\\n]*─{8}[^─]*$`,
    // A dialog: from a rule down to the selected answer. The last line names the keys that answer it.
    asks:
      `^(?=[^]*${ANSWER_KEYS})[^]*${RULE}((?:(?![^\\n]*─{8})[^\\n]*\\n)*?)[│ ]*❯ [^\\n]*\\n` +
      `|${ANSWER_KEYS}`,
    status: 'claude-code',
    pasted: '\\[Pasted text #\\d+',
    multiline: true,
    interrupt: 'Escape',
  },
  /** Any other program. Only an outcome block or `relay task done` ends a task there. */
  other: { multiline: false },
};

const SETTLE_MS = 1_500;
const QUIET_MS = 60_000;
/** Maximum number of lines from the input box to the bottom. */
const INPUT_LINES = 12;
/** Maximum length of a question. */
const QUESTION_CHARS = 400;

/** One observation of an agent: its screen, terminal title and status file. */
export interface Sight {
  readonly title: string;
  readonly screen: string;
  /** From the program's status file; null if there is none. */
  readonly status?: AgentStatus | null;
}

interface AgentStatus {
  readonly state: 'ready' | 'busy' | 'asks';
  readonly asked?: string;
}

/** `unclear`: nothing on the screen matches. */
export type AgentState =
  | { readonly name: 'ready' | 'busy' | 'unclear' }
  | { readonly name: 'asks'; readonly asked: string };

export type CompiledProfile = ReturnType<typeof compileProfile>;

/** A profile with compiled patterns. */
export function compileProfile(name: string, profile: AgentProfile) {
  const pattern = (source: string | undefined) => (source === undefined ? null : new RegExp(source, 'g'));
  const busy = pattern(profile.busy);
  const ready = pattern(profile.ready);
  const asks = pattern(profile.asks);
  const pasted = pattern(profile.pasted);
  const shows = (mark: RegExp | null, { title, screen }: Sight) =>
    mark !== null && (title.search(mark) >= 0 || screen.trimEnd().search(mark) >= 0);
  return {
    name,
    multiline: profile.multiline ?? false,
    interrupt: profile.interrupt ?? null,
    settleMs: profile.settle_ms ?? SETTLE_MS,
    quietMs: profile.quiet_ms ?? QUIET_MS,
    status: profile.status ?? null,
    /** Whether the profile has a pattern for "waits for input". */
    showsReady: ready !== null,
    /** Whether the profile has a pattern for "works". */
    showsBusy: busy !== null,
    state(sight: Sight): AgentState {
      const { status } = sight;
      if (status?.state === 'asks' || shows(asks, sight)) {
        const [match] = asks === null ? [] : sight.screen.trimEnd().matchAll(asks);
        const places = [match?.[1] ?? match?.[0], status?.asked, sight.screen];
        return { name: 'asks', asked: places.map((text) => questionIn(text ?? '')).find(Boolean) ?? '' };
      }
      if (status?.state === 'busy' || shows(busy, sight)) return { name: 'busy' };
      if (status?.state === 'ready' || shows(ready, sight)) return { name: 'ready' };
      return { name: 'unclear' };
    },
    /** Returns the screen's text above the input box. */
    aboveInput(screen: string): string {
      const last = ready === null ? undefined : [...screen.trimEnd().matchAll(ready)].at(-1);
      if (!last) return screen;
      const above = screen.slice(0, screen.lastIndexOf('\n', last.index) + 1);
      // A match further up is old output.
      const lines = screen.slice(above.length).trimEnd().split('\n').length;
      return lines <= INPUT_LINES ? above.trimEnd() : screen;
    },
    /** Returns the collapsed pastes on the screen; the value changes with each paste. */
    pastes: (screen: string) => (pasted === null ? '' : [...screen.matchAll(pasted)].join('|')),
  };
}

/**
 * Returns a dialog as one line, without frames and choices. A long one is cut at its start, because the question is at
 * its end.
 */
function questionIn(dialog: string): string {
  const line = dialog
    .replace(/[│┃╭╮╰╯─━╌┄▔▁▄▀╹╻]+/gu, ' ')
    .replace(/[●❯›] *\d+\. [\s\S]*$/u, '')
    .trim()
    // Rules and blank lines separate the parts of a dialog.
    .replace(/\s*\n\s*\n\s*/g, ' · ')
    .replace(/\s+/g, ' ');
  const characters = [...line];
  return characters.length > QUESTION_CHARS ? `…${characters.slice(1 - QUESTION_CHARS).join('')}` : line;
}

/** Returns which agent runs there: by its name first, then by its screen. */
export function findAgent(
  profiles: { readonly [name: string]: AgentProfile },
  seen: { readonly command: string; readonly screen: string },
): CompiledProfile {
  const entries = Object.entries(profiles);
  const found =
    entries.find(([, { command }]) => command !== undefined && new RegExp(command).test(seen.command)) ??
    entries.find(([, { screen }]) => screen !== undefined && new RegExp(screen).test(seen.screen));
  return found ? compileProfile(...found) : compileProfile('other', profiles.other ?? {});
}

/**
 * Claude Code writes the state of each session to `sessions/<pid>.json` in its folder, and removes the file at its
 * end.
 */

type Environment = { readonly [name: string]: string | undefined };

const STATES: { readonly [status: string]: AgentStatus['state'] } = {
  idle: 'ready',
  busy: 'busy',
  waiting: 'asks',
};

/** Returns the state file of the session on this terminal; null if there is none. */
export async function claudeStatusFile(tty: string, env: Environment): Promise<string | null> {
  const folder = env.CLAUDE_CONFIG_DIR || join(homedir(), '.claude');
  for (const pid of await processesOn(tty)) {
    const path = join(folder, 'sessions', `${pid}.json`);
    const session = await readSession(path);
    // A tool may have started `claude -p` on the same terminal.
    if (session?.kind === 'interactive') return path;
  }
  return null;
}

export async function claudeStatus(path: string): Promise<AgentStatus | null> {
  const session = await readSession(path);
  const state = STATES[String(session?.status)];
  if (state === undefined) return null;
  return typeof session?.waitingFor === 'string' ? { state, asked: session.waitingFor } : { state };
}

async function readSession(path: string): Promise<JsonObject | null> {
  return jsonObjectIn(await readFile(path, 'utf8').catch(() => null));
}

async function processesOn(tty: string): Promise<string[]> {
  try {
    const args = ['-t', tty.replace(/^\/dev\//, ''), '-o', 'pid='];
    return (await promisify(execFile)('ps', args)).stdout
      .split('\n')
      .map((line) => line.trim())
      .filter(Boolean);
  } catch {
    // Without `ps` only the screen is used.
    return [];
  }
}
