import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { sha256 } from '../../engines/body-hashes.ts';
import type { AgentSession } from '../../interfaces/cli/host.ts';
import { readJsonFile, writeAtomically } from './atomic-file.ts';
import { makeHome } from './home.ts';

/** Environment variables in which clients pass the session id to the programs that they start. */
export const SESSION_VARIABLES = [
  ['claude', 'CLAUDE_CODE_SESSION_ID'],
  ['codex', 'CODEX_SESSION_ID'],
  ['codex', 'CODEX_THREAD_ID'],
  ['gemini', 'GEMINI_SESSION_ID'],
] as const;

/**
 * Environment variables that tell which client has started a process. They do not tell which session, so the folder
 * identifies the session.
 */
const CLIENT_VARIABLES = [
  ['gemini', 'GEMINI_CLI'],
  ['opencode', 'OPENCODE'],
] as const;

/** Age in ms at which files about sessions are deleted, longer than any session lasts. */
const SESSION_MAX_AGE_MS = 7 * 24 * 3_600_000;

/** Registers a session, so that commands and MCP servers of its client find the name of their agent. */
export async function registerSession(home: string, session: AgentSession): Promise<void> {
  const text = JSON.stringify(session);
  const files = [session.session, session.folder]
    .map((place) => sessionFile(home, session.client, place))
    .filter((file) => !isCurrent(file, text));
  // Hooks register the session at every prompt, and most of the time nothing has changed.
  if (files.length === 0) return;
  makeHome(home);
  const folder = join(home, 'sessions');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const file of files) await writeAtomically(file, text, { mode: 0o600, flush: false });
  deleteOldFiles(folder);
}

/** Returns whether a file contains this text and is far from the age at which it is deleted. */
function isCurrent(file: string, text: string): boolean {
  try {
    return (
      Date.now() - statSync(file).mtimeMs < SESSION_MAX_AGE_MS / 7 && readFileSync(file, 'utf8') === text
    );
  } catch {
    return false;
  }
}

/**
 * Returns the name of the agent that runs this process: `RELAY_AGENT`, else the agent of the session that a
 * hook registered, else null. `client` is the client's name in an MCP connection.
 */
export function agentName(
  home: string,
  env: { readonly [name: string]: string | undefined },
  cwd: string,
  client?: string,
): string | null {
  if (env.RELAY_AGENT) return env.RELAY_AGENT;
  for (const [name, variable] of SESSION_VARIABLES) {
    const agent = env[variable] && registeredAgent(home, name, env[variable]);
    if (agent) return agent;
  }
  const [named] = CLIENT_VARIABLES.find(([, variable]) => env[variable]) ?? [client];
  for (let folder = cwd; named !== undefined; folder = dirname(folder)) {
    const agent = registeredAgent(home, named, folder);
    if (agent || folder === dirname(folder)) return agent;
  }
  return null;
}

function registeredAgent(home: string, client: string, place: string): string | null {
  return knownSession(home, client, place)?.agent ?? null;
}

/** Returns the session that a hook registered, or null. `place` is its id or its folder. */
export function knownSession(home: string, client: string, place: string): AgentSession | null {
  const found = readJsonFile(sessionFile(home, client, place));
  return typeof found?.agent === 'string' ? (found as unknown as AgentSession) : null;
}

/** Returns the path of a file that a session watches. The file is touched when messages wait for the session. */
export function wakeMark(home: string, client: string, session: string): string {
  return `${sessionFile(home, client, session)}.wake`;
}

/**
 * Returns the process of the client that runs this hook, and the executable of the client. Skips shells between
 * the client and the hook. Works only on Linux, where /proc names the parent of each process.
 */
export function clientProcess(): { readonly pid?: number; readonly program?: string } {
  try {
    let pid = process.ppid;
    for (let depth = 0; depth < 8 && pid > 1; depth++) {
      const program = readlinkSync(`/proc/${pid}/exe`);
      if (!/^(?:ba|da|z|k|a)?sh$|^busybox$/.test(basename(program))) return { pid, program };
      pid = Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1] ?? 0);
    }
  } catch {
    // Without /proc, the process of the client stays unknown.
  }
  return {};
}

/** Number of bytes at the end of a transcript that are searched: enough for the current turn. */
const TRANSCRIPT_TAIL_BYTES = 8 * 1024 * 1024;

/**
 * Returns whether a transcript shows that a message reached the model. The line that Claude Code writes when
 * it only queues a message does not count.
 */
export function seenInTranscript(file: string, id: string): boolean {
  try {
    const { size } = statSync(file);
    const length = Math.min(size, TRANSCRIPT_TAIL_BYTES);
    const tail = Buffer.alloc(length);
    const opened = openSync(file, 'r');
    try {
      readSync(opened, tail, 0, length, size - length);
    } finally {
      closeSync(opened);
    }
    const lines = tail.toString().split('\n');
    return lines.some((line) => line.includes(id) && !/"type":"queue-operation"/.test(line));
  } catch {
    return false;
  }
}

/** Returns the file of a session. `place` is the id of the session or its folder. */
function sessionFile(home: string, client: string, place: string): string {
  return join(home, 'sessions', `${sha256(JSON.stringify([client, place])).slice(0, 24)}.json`);
}

/** Deletes files of a folder that are older than any session lasts. */
export function deleteOldFiles(folder: string): void {
  for (const name of readdirSync(folder)) {
    const file = join(folder, name);
    if (Date.now() - statSync(file).mtimeMs > SESSION_MAX_AGE_MS) rmSync(file, { force: true });
  }
}
