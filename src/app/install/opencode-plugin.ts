import type { Launcher } from './launcher.ts';

/** First line of the plugin. It identifies the file as ours. */
const MARK = '// Written by "relay install opencode". "relay install opencode --remove" deletes this file.';

export function isOurPlugin(text: string): boolean {
  return text.startsWith(MARK.slice(0, 40));
}

/**
 * Returns the plugin for OpenCode, which has no hooks for commands. It runs `relay hook opencode EVENT` and adds
 * the answer: the brief to the system prompt of each session, new messages to the prompt. If the program is
 * missing or fails, the plugin adds nothing.
 */
export function opencodePlugin({ command, args }: Pick<Launcher, 'command' | 'args'>): string {
  return `${MARK}
import { spawn } from 'node:child_process';

const RELAY = ${JSON.stringify([command, ...args, 'hook', 'opencode'])};
const TIMEOUT_MS = 10_000;

function hook(event, directory, session) {
  return new Promise((resolve) => {
    const { BUN_BE_BUN: _, ...env } = process.env;
    const [program, ...words] = [...RELAY, event];
    const o = { cwd: directory, env, timeout: TIMEOUT_MS, shell: process.platform === 'win32' };
    const child = spawn(program, words, { ...o, stdio: ['pipe', 'pipe', 'ignore'] });
    let answer = '';
    child.stdout.on('data', (chunk) => (answer += chunk));
    child.on('error', () => resolve(''));
    child.on('close', () => {
      try {
        resolve(JSON.parse(answer).hookSpecificOutput?.additionalContext ?? '');
      } catch {
        resolve('');
      }
    });
    child.stdin.on('error', () => {});
    child.stdin.end(JSON.stringify({ cwd: directory, session_id: session, trigger: 'manual' }));
  }).catch(() => '');
}

export const ContextRelay = async ({ directory }) => {
  // The brief is read once per session, so that the beginning of the prompt stays the same.
  const briefs = new Map();
  return {
    'experimental.chat.system.transform': async ({ sessionID = '' }, output) => {
      if (!briefs.has(sessionID)) briefs.set(sessionID, hook('session-start', directory, sessionID));
      const brief = await briefs.get(sessionID);
      if (brief) output.system.push(brief);
    },
    'chat.message': async ({ sessionID }, output) => {
      const text = await hook('prompt-submit', directory, sessionID);
      const last = output.parts.at(-1);
      if (text && last) output.parts.push({ ...last, id: last.id + 'r', type: 'text', text, synthetic: true });
    },
    'experimental.session.compacting': async ({ sessionID }, output) => {
      await hook('pre-compact', directory, sessionID);
      briefs.delete(sessionID);
      const brief = await hook('session-start', directory, sessionID);
      if (brief) output.context.push(brief);
    },
  };
};
`;
}
