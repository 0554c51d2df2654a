import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { RelayError } from '../../base/errors.ts';
import { SESSION_TURN_CHARS, SESSIONS_MAX } from '../../base/limits.ts';
import type { SessionInfo, ToolUse, Turn } from '../../client/sessions/transcript.ts';
import { sha256 } from '../../engines/body-hashes.ts';
import type { SessionFilter } from '../../interfaces/cli/host.ts';
import { maskSecrets } from '../../text/secrets.ts';
import { realPath } from '../own-package.ts';
import { SESSION_VARIABLES } from '../store/sessions.ts';
import { claudeReader } from './claude.ts';
import { codexReader } from './codex.ts';
import { geminiReader } from './gemini.ts';
import { opencodeReader } from './opencode.ts';
import { isInside, type Places, type RawTurn, type Reader, type Tally } from './reader.ts';

const READERS: readonly Reader[] = [claudeReader, codexReader, geminiReader, opencodeReader];

/** Returns the sessions of a folder, newest first. Sessions in `hidden` are left out. */
export async function listSessions(
  places: Places,
  { folder, client, limit = SESSIONS_MAX }: SessionFilter,
  hidden: ReadonlySet<string> = new Set(),
): Promise<SessionInfo[]> {
  const found = READERS.filter((reader) => client === undefined || reader.client === client)
    .flatMap((reader) => reader.candidates(places, folder).map((candidate) => ({ reader, candidate })))
    .sort((a, b) => b.candidate.updatedAt - a.candidate.updatedAt)
    .slice(0, SESSIONS_MAX);
  const sessions: SessionInfo[] = [];
  for (const { reader, candidate } of found) {
    if (sessions.length === limit) break;
    const about = await reader.describe(candidate, folder).catch(() => null);
    if (about === null || !isInside(about.folder, folder)) continue;
    const name = sessionName(reader.client, about.id);
    const task = about.task === null ? null : safe(about.task);
    if (!hidden.has(name)) sessions.push({ ...candidate, ...about, task, client: reader.client, name });
  }
  return sessions;
}

/**
 * Returns the short name of a session, made from a hash: some clients begin all ids with the time, so that
 * their first characters look alike.
 */
function sessionName(client: string, id: string): string {
  return sha256(`${client} ${id}`).slice(0, 4);
}

/** Returns the folder whose sessions belong together: the repository that contains `cwd`, or `cwd` itself. */
export function sessionFolder(cwd: string): string {
  // If the folder was deleted, its sessions still exist. `realPath` then returns the path as it is.
  const real = realPath(cwd);
  for (let folder = real; folder !== dirname(folder); folder = dirname(folder))
    if (existsSync(join(folder, '.git'))) return folder;
  return real;
}

/**
 * Finds a session by its short name, its id or the beginning of its id. Without a name, returns the session that runs
 * this command, or else the newest session of the folder.
 */
export async function findSession(
  places: Places,
  name: string | undefined,
  folder: string,
  hidden?: ReadonlySet<string>,
): Promise<SessionInfo> {
  const sessions = await listSessions(places, { folder }, hidden);
  if (name === undefined) {
    const running = SESSION_VARIABLES.map(([, variable]) => places.env[variable]).filter(Boolean);
    const current = sessions.find(({ id }) => running.includes(id)) ?? sessions[0];
    if (current === undefined)
      throw new RelayError('no_session', { what: `No coding agent has a session in ${folder}.` });
    return current;
  }
  const matches = (session: SessionInfo) => session.name === name || session.id === name;
  const starts = ({ id }: SessionInfo) => name.length >= 6 && id.startsWith(name);
  for (const list of [sessions, await listSessions(places, { folder: null }, hidden)]) {
    const found = list.filter(matches).length > 0 ? list.filter(matches) : list.filter(starts);
    if (found.length === 1) return found[0]!;
    if (found.length > 1) {
      const ids = found.map(({ client, id }) => `${client} ${id}`).join(', ');
      throw new RelayError('no_session', { what: `"${name}" matches several sessions. Use an id: ${ids}.` });
    }
  }
  throw new RelayError('no_session', { what: `There is no session "${name}".` });
}

/** Yields the turns of a session with their numbers. Secrets are masked, and long texts are shortened. */
export async function* readTurns(session: SessionInfo, tally: Tally = { skipped: 0 }): AsyncGenerator<Turn> {
  const reader = READERS.find(({ client }) => client === session.client)!;
  let n = 0;
  for await (const turn of reader.turns(session, tally)) yield { n: ++n, ...safeTurn(turn) };
}

function safeTurn({ text, tool, todos, ...rest }: RawTurn): RawTurn {
  return {
    ...rest,
    text: safe(text),
    ...(tool ? { tool: safeTool(tool) } : {}),
    ...(todos ? { todos: todos.map((todo) => ({ ...todo, text: safe(todo.text) })) } : {}),
  };
}

function safeTool(tool: ToolUse): ToolUse {
  const command = tool.command === undefined ? {} : { command: safe(tool.command) };
  const files = tool.files.map((file) => ({ ...file, path: safe(file.path) }));
  return { ...tool, input: safe(tool.input), output: safe(tool.output), files, ...command };
}

/**
 * Number of characters beyond a cut that are searched for secrets too. Otherwise a secret that the cut divides would
 * not be recognized.
 */
const MARGIN = 4_000;

/** Masks the secrets in a text. Omits the middle of a long text first, because masking is slow. */
function safe(text: string): string {
  const half = SESSION_TURN_CHARS / 2;
  if (text.length <= SESSION_TURN_CHARS + 2 * MARGIN) return text === '' ? '' : maskSecrets(text);
  const head = maskSecrets(text.slice(0, half + MARGIN)).slice(0, half);
  const tail = maskSecrets(text.slice(-half - MARGIN)).slice(-half);
  return `${head}\n… ${text.length - SESSION_TURN_CHARS} characters left out …\n${tail}`;
}
