import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type JsonObject, jsonObjectIn } from '../../base/json.ts';
import type { AgentStatus } from './profiles.ts';

/** Claude Code writes the state of each session to `sessions/<pid>.json` in its folder, and removes the file at its end. */

type Environment = { readonly [name: string]: string | undefined };

const STATES: { readonly [status: string]: AgentStatus['state'] } = {
  idle: 'ready',
  busy: 'busy',
  waiting: 'asks',
};

/** The state file of the session that runs on this terminal; null where there is none. */
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
    // Without `ps`, the screen has to do.
    return [];
  }
}
