import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isJsonObject } from '../../base/json.ts';
import { sha256 } from '../../engines/body-hashes.ts';
import type { AgentSession } from '../../interfaces/cli/host.ts';
import { writeAtomically } from './atomic-file.ts';
import { makeHome } from './home.ts';

/** Environment variables that identify the session of a process that a client has started. */
const SESSION_VARIABLES = [
  ['claude', 'CLAUDE_CODE_SESSION_ID'],
  ['codex', 'CODEX_SESSION_ID'],
  ['codex', 'CODEX_THREAD_ID'],
  ['gemini', 'GEMINI_SESSION_ID'],
] as const;

/** Environment variables that name only the client. Its session is found by the folder. */
const CLIENT_VARIABLES = [
  ['gemini', 'GEMINI_CLI'],
  ['opencode', 'OPENCODE'],
] as const;

/** Age in ms at which files about sessions are deleted. It is longer than any session lasts. */
const SESSION_MAX_AGE_MS = 7 * 24 * 3_600_000;

/** Registers a session, so that commands and MCP servers that its client starts know the name of the agent. */
export async function registerSession(home: string, session: AgentSession): Promise<void> {
  makeHome(home);
  const folder = join(home, 'sessions');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const text = JSON.stringify(session);
  for (const place of [session.session, session.folder])
    await writeAtomically(sessionFile(home, session.client, place), text, { mode: 0o600, flush: false });
  deleteOldFiles(folder);
}

/**
 * Returns the name of the agent that runs this process: `RELAY_AGENT`, or else the agent of the session that a
 * hook has registered. Returns null if no name is known. `client` is the client that an MCP connection names.
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
  try {
    const found: unknown = JSON.parse(readFileSync(sessionFile(home, client, place), 'utf8'));
    return isJsonObject(found) && typeof found.agent === 'string' ? found.agent : null;
  } catch {
    return null;
  }
}

/** Returns the file of a session. `place` is the id of the session or its folder. */
function sessionFile(home: string, client: string, place: string): string {
  return join(home, 'sessions', `${sha256(JSON.stringify([client, place])).slice(0, 24)}.json`);
}

/** Deletes files in the folder that are about sessions that have ended. */
export function deleteOldFiles(folder: string): void {
  for (const name of readdirSync(folder)) {
    const file = join(folder, name);
    if (Date.now() - statSync(file).mtimeMs > SESSION_MAX_AGE_MS) rmSync(file, { force: true });
  }
}
