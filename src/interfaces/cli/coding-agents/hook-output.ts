/** The clients that run commands as hooks. */
export const HOOK_CLIENTS = ['claude', 'codex', 'gemini'] as const;
export type HookClient = (typeof HOOK_CLIENTS)[number];

export const HOOK_EVENTS = ['session-start', 'prompt-submit', 'pre-compact', 'stop'] as const;
export type HookEvent = (typeof HOOK_EVENTS)[number];

/** What a hook has to say. */
export interface HookAnswer {
  /** For the model, before its next turn. Only a session start and a prompt can carry it. */
  readonly context?: string;
  /** For the person at the terminal. */
  readonly message?: string;
}

const NAMES: { readonly [C in HookClient]: { readonly [E in HookEvent]: string } } = {
  claude: {
    'session-start': 'SessionStart',
    'prompt-submit': 'UserPromptSubmit',
    'pre-compact': 'PreCompact',
    stop: 'Stop',
  },
  codex: {
    'session-start': 'SessionStart',
    'prompt-submit': 'UserPromptSubmit',
    'pre-compact': 'PreCompact',
    stop: 'Stop',
  },
  gemini: {
    'session-start': 'SessionStart',
    'prompt-submit': 'BeforeAgent',
    'pre-compact': 'PreCompress',
    stop: 'AfterAgent',
  },
};

/** The answer as the client wants it on stdout: JSON, or nothing. Gemini takes JSON alone, also for nothing. */
export function renderAnswer(client: HookClient, event: HookEvent, answer: HookAnswer): string {
  const takesContext = event === 'session-start' || event === 'prompt-submit';
  const output = {
    ...(answer.context && takesContext
      ? { hookSpecificOutput: { hookEventName: NAMES[client][event], additionalContext: answer.context } }
      : {}),
    ...(answer.message ? { systemMessage: answer.message } : {}),
  };
  if (Object.keys(output).length === 0) return client === 'gemini' ? '{}\n' : '';
  return `${JSON.stringify(output)}\n`;
}
