import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type JsonObject, jsonObjectIn } from '../../base/json.ts';

/**
 * How to recognize a coding agent in a terminal, and whether it works, waits for input or asks a person.
 * Profiles are plain data, so `agents.json` in the relay's home can add profiles by name. Patterns are regular
 * expressions for the terminal's title and for its screen. Trailing blank lines are removed first, so `$` is
 * the end of the screen.
 */
export interface AgentProfile {
  /** Matches the name of the program that is running. */
  readonly command?: string;
  /** Matches the screen of the program. It is needed if its name is ambiguous, such as `node`. */
  readonly screen?: string;
  /** Matches the screen while the agent works. */
  readonly busy?: string;
  /**
   * Matches the screen while the agent waits for input. A task is pasted only in this state, and ends in this
   * state even without an outcome block.
   */
  readonly ready?: string;
  /** Matches the screen while the agent waits for a person's decision. The first group is the question. */
  readonly asks?: string;
  /** Set if the program also writes its state to a file. The file is more reliable than the screen. */
  readonly status?: 'claude-code';
  /** Matches the placeholder that the screen shows for a long paste. */
  readonly pasted?: string;
  /**
   * True if pasted text with several lines is one input until Enter is pressed. Otherwise the agent gets one
   * line with the pointer.
   */
  readonly multiline?: boolean;
  /** Key that stops the current work without ending the program. Without it, nothing is pressed. */
  readonly interrupt?: string;
  /** The screen is evaluated only after it was unchanged for this many ms. */
  readonly settle_ms?: number;
  /**
   * A task is reported as stuck if the screen did not change for this many ms. `--stuck-after` overrides it.
   */
  readonly quiet_ms?: number;
}

/**
 * Pattern for a horizontal line, such as the top of a box. It is anchored at the start of a line, so that
 * matching takes linear time.
 */
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
    // The input box at the bottom of the screen, with at most four lines below it.
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
    // This profile must come after those of Codex and Gemini CLI, which also match `? for shortcuts`.
    screen: 'Claude Code|\\? for shortcuts',
    busy: 'esc to interrupt',
    // The input box: the prompt sign between the last two horizontal lines.
    ready: `${RULE}[│ ]*[❯>!](?![ \\u00a0]*\\d+\\. )[^─]*\\n[^\\n]*─{8}[^─]*$`,
    // A dialog: from a horizontal line to the selected answer. The last line names the keys that answer it.
    asks:
      `^(?=[^]*${ANSWER_KEYS})[^]*${RULE}((?:(?![^\\n]*─{8})[^\\n]*\\n)*?)[│ ]*❯ [^\\n]*\\n` +
      `|${ANSWER_KEYS}`,
    status: 'claude-code',
    pasted: '\\[Pasted text #\\d+',
    multiline: true,
    interrupt: 'Escape',
  },
  /**
   * Any other program. Its state cannot be seen on the screen, so a task ends only with an outcome block or
   * `relay task done`.
   */
  other: { multiline: false },
};

const SETTLE_MS = 1_500;
const QUIET_MS = 60_000;
/** Maximum number of lines between the input box and the bottom of the screen. */
const INPUT_LINES = 12;
/** Maximum length of a question. */
const QUESTION_CHARS = 400;

/** What was observed of an agent at one moment: its screen, terminal title and status file. */
export interface AgentView {
  readonly title: string;
  readonly screen: string;
  /** State in the program's status file. Null if there is no such file. */
  readonly status?: AgentStatus | null;
}

interface AgentStatus {
  readonly state: 'ready' | 'busy' | 'asks';
  readonly asked?: string;
}

/** State of an agent. `unclear` means that no pattern matches the screen. */
export type AgentState =
  | { readonly name: 'ready' | 'busy' | 'unclear' }
  | { readonly name: 'asks'; readonly asked: string };

export type CompiledProfile = ReturnType<typeof compileProfile>;

/** Compiles the patterns of a profile. */
export function compileProfile(name: string, profile: AgentProfile) {
  const pattern = (source: string | undefined) => (source === undefined ? null : new RegExp(source, 'g'));
  const busy = pattern(profile.busy);
  const ready = pattern(profile.ready);
  const asks = pattern(profile.asks);
  const pasted = pattern(profile.pasted);
  const shows = (mark: RegExp | null, { title, screen }: AgentView) =>
    mark !== null && (title.search(mark) >= 0 || screen.trimEnd().search(mark) >= 0);
  return {
    name,
    multiline: profile.multiline ?? false,
    interrupt: profile.interrupt ?? null,
    settleMs: profile.settle_ms ?? SETTLE_MS,
    quietMs: profile.quiet_ms ?? QUIET_MS,
    status: profile.status ?? null,
    /** True if the profile has a pattern for "waits for input". */
    showsReady: ready !== null,
    /** True if the profile has a pattern for "works". */
    showsBusy: busy !== null,
    state(view: AgentView): AgentState {
      const { status } = view;
      if (status?.state === 'asks' || shows(asks, view)) {
        const [match] = asks === null ? [] : view.screen.trimEnd().matchAll(asks);
        const places = [match?.[1] ?? match?.[0], status?.asked, view.screen];
        return { name: 'asks', asked: places.map((text) => questionIn(text ?? '')).find(Boolean) ?? '' };
      }
      if (status?.state === 'busy' || shows(busy, view)) return { name: 'busy' };
      if (status?.state === 'ready' || shows(ready, view)) return { name: 'ready' };
      return { name: 'unclear' };
    },
    /** Returns the text above the input box. Returns the whole text if there is no input box. */
    aboveInput(screen: string): string {
      const last = ready === null ? undefined : [...screen.trimEnd().matchAll(ready)].at(-1);
      if (!last) return screen;
      const above = screen.slice(0, screen.lastIndexOf('\n', last.index) + 1);
      // If the match is too far from the bottom, it is old output and not the input box.
      const lines = screen.slice(above.length).trimEnd().split('\n').length;
      return lines <= INPUT_LINES ? above.trimEnd() : screen;
    },
    /** Returns all placeholders for pasted text on the screen, as one text. It changes with each new paste. */
    pastes: (screen: string) => (pasted === null ? '' : [...screen.matchAll(pasted)].join('|')),
  };
}

/**
 * Returns a dialog as one line, without frames and choices. If it is too long, its start is cut, because the
 * question is at the end.
 */
function questionIn(dialog: string): string {
  const line = dialog
    .replace(/[│┃╭╮╰╯─━╌┄▔▁▄▀╹╻]+/gu, ' ')
    .replace(/[●❯›] *\d+\. [\s\S]*$/u, '')
    .trim()
    // Horizontal and blank lines separate the parts of a dialog.
    .replace(/\s*\n\s*\n\s*/g, ' · ')
    .replace(/\s+/g, ' ');
  const characters = [...line];
  return characters.length > QUESTION_CHARS ? `…${characters.slice(1 - QUESTION_CHARS).join('')}` : line;
}

/** Returns the profile of the agent that is running. Looks at the program's name first, then at its screen. */
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

type Environment = { readonly [name: string]: string | undefined };

const STATES: { readonly [status: string]: AgentStatus['state'] } = {
  idle: 'ready',
  busy: 'busy',
  waiting: 'asks',
};

/**
 * Returns the path of the status file of the Claude Code session on this terminal, or null if there is none.
 * Claude Code writes the state of each session to the file `sessions/<pid>.json` in its folder, and deletes the
 * file when the session ends.
 */
export async function claudeStatusFile(tty: string, env: Environment): Promise<string | null> {
  const folder = env.CLAUDE_CONFIG_DIR || join(homedir(), '.claude');
  for (const pid of await processesOn(tty)) {
    const path = join(folder, 'sessions', `${pid}.json`);
    const session = await readSession(path);
    // Ignore sessions that are not interactive: a tool may have started `claude -p` on this terminal.
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
    // Without `ps`, only the screen is used.
    return [];
  }
}
