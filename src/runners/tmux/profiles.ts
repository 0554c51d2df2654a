/**
 * What is known of agents in a terminal: how to see that one is at work, that it waits, and what it makes of a paste. Plain
 * data, so that it can be extended without code: `agents.json` in the relay's home has the same shape, by name.
 * Patterns are regular expressions, looked for in what the screen shows.
 */
export interface AgentProfile {
  /** Known by the name of the running program, or by what stands on the screen. */
  readonly command?: string;
  readonly screen?: string;
  /** It is at work while this shows. */
  readonly busy?: string;
  /** It takes no input before this shows. */
  readonly ready?: string;
  /** What it shows in place of a long paste. */
  readonly pasted?: string;
  /** A paste of several lines stays one input until Enter. Where not, one line with the pointer goes in. */
  readonly multiline?: boolean;
  /** The key that stops its work and not the program. Without one, nothing is sent. */
  readonly interrupt?: string;
  /** Still for this long and not busy: it is done, if it has said its outcome. */
  readonly settle_ms?: number;
  /** Still for this long: it is done, though it has said none. */
  readonly quiet_ms?: number;
}

export const PROFILES: { readonly [name: string]: AgentProfile } = {
  claude: {
    command: '^claude',
    screen: 'Claude Code|\\? for shortcuts',
    busy: 'esc to interrupt',
    pasted: '\\[Pasted text #\\d+',
    multiline: true,
    interrupt: 'Escape',
  },
  codex: {
    command: '^codex',
    screen: 'OpenAI Codex|⏎ send',
    busy: 'esc to interrupt',
    pasted: '\\[Pasted Content \\d+ chars\\]',
    multiline: true,
    interrupt: 'Escape',
  },
  gemini: {
    command: '^gemini',
    screen: 'Gemini CLI|Type your message or @path',
    busy: 'esc to cancel',
    ready: 'Type your message',
    pasted: '\\[Pasted Text: \\d+',
    multiline: true,
    interrupt: 'Escape',
  },
  opencode: {
    command: '^opencode',
    screen: 'opencode',
    busy: 'esc (?:again to )?interrupt',
    pasted: '\\[Pasted ~?\\d+ lines',
    multiline: true,
    interrupt: 'Escape',
  },
  aider: {
    command: '^aider',
    screen: 'Aider v\\d',
    busy: 'Waiting for |[░█]{2,}',
    ready: '(?:^|\\n)(?:\\w+ )?(?:multi)?> *$',
    multiline: true,
    interrupt: 'C-c',
  },
  /** Anything else: nothing is known but that a screen which does not move is idle. */
  other: { multiline: false },
};

const SETTLE_MS = 1_500;
const QUIET_MS = 20_000;

/** A profile with its patterns ready to use. */
export interface KnownAgent {
  readonly name: string;
  readonly multiline: boolean;
  readonly interrupt: string | null;
  readonly settleMs: number;
  readonly quietMs: number;
  isBusy(screen: string): boolean;
  isReady(screen: string): boolean;
  /** It may be at work: it shows that it is, or nobody knows how it would. */
  mayBeBusy(screen: string): boolean;
  /** How many collapsed pastes there have been, as far as the screen tells; changes with each. */
  pastes(screen: string): string;
}

export function knownAgent(name: string, profile: AgentProfile): KnownAgent {
  const pattern = (source: string | undefined) => (source === undefined ? null : new RegExp(source, 'g'));
  const [busy, ready, pasted] = [profile.busy, profile.ready, profile.pasted].map(pattern);
  return {
    name,
    multiline: profile.multiline ?? false,
    interrupt: profile.interrupt ?? null,
    settleMs: profile.settle_ms ?? SETTLE_MS,
    quietMs: profile.quiet_ms ?? QUIET_MS,
    isBusy: (screen) => busy != null && screen.search(busy) >= 0,
    mayBeBusy: (screen) => busy == null || screen.search(busy) >= 0,
    isReady: (screen) => ready == null || screen.search(ready) >= 0,
    pastes: (screen) => (pasted == null ? '' : [...screen.matchAll(pasted)].join('|')),
  };
}

/** Which of them runs there: by its name first, then by what it shows. */
export function findAgent(
  profiles: { readonly [name: string]: AgentProfile },
  seen: { readonly command: string; readonly screen: string },
): KnownAgent {
  const entries = Object.entries(profiles);
  const found =
    entries.find(([, { command }]) => command !== undefined && new RegExp(command).test(seen.command)) ??
    entries.find(([, { screen }]) => screen !== undefined && new RegExp(screen).test(seen.screen));
  return found ? knownAgent(...found) : knownAgent('other', profiles.other ?? {});
}
