import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { homedir, hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { pause } from '../../base/pause.ts';
import type { Agent, Session, Woken } from '../../contract/agents.ts';
import { isLoopback } from '../../contract/pointer-url.ts';
import type { Relay } from '../../contract/relay.ts';
import { framedMessages } from '../../interfaces/cli/agent-messages.ts';
import type { Host } from '../../interfaces/cli/host.ts';
import type { Environment } from '../config.ts';
import { processExists } from '../serve/pid-file.ts';
import { readJsonFile } from '../store/atomic-file.ts';
import { makeHome } from '../store/home.ts';
import { knownSession, seenInTranscript, wakeMark } from '../store/sessions.ts';

/** Interval in ms at which `watchSessions` asks the relay for messages. */
const WATCH_MS = 3_000;
/** Time in ms for which the transcript is watched for a message that was sent to a session. */
const EVIDENCE_MS = 3_000;
const EVIDENCE_POLL_MS = 250;
/**
 * Time in ms to wait until a sent message appears in the transcript. After this time, a missing message counts as
 * lost and is queued again.
 */
const LOST_MS = 120_000;
const CODEX_MS = 15_000;
const HTTP_MS = 10_000;
/** Interval in ms at which a hook that waits for messages checks whether a sender has called it. */
const CALL_POLL_MS = 1_000;
/** Supported version of Claude Code's inbox protocol. */
const CLAUDE_PROTOCOL = 1;

/**
 * Passes waiting messages on to the sessions of this machine, never by a route that would fork a session or
 * type into a terminal. Sessions without a route get their messages from their hooks.
 */
export async function wakeSessions(
  relay: Relay,
  names: readonly string[] | null,
  host: Host,
  env: Environment,
): Promise<Woken[]> {
  const { agents } = await relay.agents.list();
  const reachable = agents.filter(
    ({ name, alive, session, unread = 0, held = 0 }) =>
      alive && session?.machine === hostname() && unread > held && (names === null || names.includes(name)),
  );
  return Promise.all(
    reachable.map(async ({ name, session }) => ({
      name,
      route: await wakeOne(relay, name, session!, host, env).catch(() => null),
    })),
  );
}

/** Wakes sessions on this machine whenever messages wait for them, until `stop` aborts. */
export async function watchSessions(
  relay: Relay,
  stop: AbortSignal,
  onWoken: (woken: Woken) => void,
  host: Host,
  env: Environment,
): Promise<void> {
  writeFileSync(watcherFile(host.home), String(process.pid), { mode: 0o600 });
  while (!stop.aborted) {
    // If the relay does not answer, try again in the next round.
    for (const woken of await wakeSessions(relay, null, host, env).catch(() => [])) onWoken(woken);
    await pause(WATCH_MS);
  }
}

const watcherFile = (home: string) => join(home, 'watcher.pid');

/** Returns whether a process on this machine runs `watchSessions`. */
export function isWatched(home: string): boolean {
  const file = watcherFile(home);
  return existsSync(file) && processExists(Number(readFileSync(file, 'utf8')));
}

/**
 * Passes the waiting messages of one agent on to its session. Returns the name of the route, or null if
 * nothing was sent.
 */
async function wakeOne(
  relay: Relay,
  name: string,
  session: Session,
  host: Host,
  env: Environment,
): Promise<string | null> {
  const route = findRoute(session, host.home, env);
  if (route === null || (await route.works?.()) === false) return null;
  const transcript = knownSession(host.home, session.client, session.session)?.transcript;
  const waiting = await settleSent(relay, name, transcript);
  if (waiting) route.call?.();
  if (route.send === null) return waiting ? route.name : null;
  const { messages } = await relay.agents.take(name);
  if (messages.length === 0) return null;
  const ids = messages.map(({ id }) => id);
  try {
    await route.send(await framedMessages(messages, host.relay.frameSecret, (text) => text));
  } catch (error) {
    await relay.agents.mark(name, { ids, as: 'queued' });
    throw error;
  }
  await relay.agents.mark(name, { ids, as: 'sent', route: route.name });
  for (let left = EVIDENCE_MS; transcript !== undefined && left > 0; left -= EVIDENCE_POLL_MS) {
    if (!ids.every((id) => seenInTranscript(transcript, id))) await pause(EVIDENCE_POLL_MS);
    else {
      await relay.agents.mark(name, { ids, as: 'shown', route: route.name });
      break;
    }
  }
  return route.name;
}

/**
 * Settles messages that were sent to a session but not confirmed. A message in the transcript is marked as
 * shown; any other is queued again after `LOST_MS`. Returns whether further messages wait to be sent.
 */
export async function settleSent(
  relay: Relay,
  name: string,
  transcript: string | undefined,
): Promise<boolean> {
  const { messages } = await relay.agents.messages(name);
  for (const { id, route, sent_at } of messages) {
    if (sent_at === undefined) continue;
    if (transcript !== undefined && seenInTranscript(transcript, id))
      await relay.agents.mark(name, { ids: [id], as: 'shown', route });
    // Do not queue a message to Codex again: the message stays in a file until Codex reads this file.
    else if (route !== 'codex-queue' && Date.now() - Date.parse(sent_at) > LOST_MS)
      await relay.agents.mark(name, { ids: [id], as: 'queued' });
  }
  return messages.some(({ sent_at, held }) => sent_at === undefined && !held);
}

interface Route {
  readonly name: string;
  /** Sends a text to the session. Null if the session fetches its messages itself after `call`. */
  readonly send: ((text: string) => Promise<void>) | null;
  /** Tells the session that messages wait. */
  call?(): void;
  /** Returns whether the route works now. */
  works?(): Promise<boolean>;
}

/** Returns the best route by which a session can be woken now, or null. */
export function findRoute(
  session: Pick<Session, 'client' | 'session'>,
  home: string,
  env: Environment,
): Route | null {
  const { client, session: id } = session;
  const registered = knownSession(home, client, id);
  if (client === 'claude') {
    const found = claudeSession(id, env);
    const path = found?.peerProtocol === CLAUDE_PROTOCOL ? found.messagingSocketPath : null;
    if (typeof path === 'string' && existsSync(path))
      return { name: 'claude-socket', send: (text) => writeLine(path, claudeLine(id, text)) };
  }
  if (client === 'codex') {
    const program = registered?.program ?? 'codex';
    const codexEnv = {
      ...process.env,
      ...(registered?.codexHome ? { CODEX_HOME: registered.codexHome } : {}),
    };
    return {
      name: 'codex-queue',
      send: async (text) => {
        const { execFile } = await import('node:child_process');
        return new Promise((done, failed) => {
          const args = ['queue', '--thread', id, '--message', text];
          const child = execFile(program, args, { env: codexEnv, timeout: CODEX_MS }, (error) =>
            error ? failed(error) : done(),
          );
          child.stdin?.end();
        });
      },
    };
  }
  // Our OpenCode plugin and our background hook in Claude Code each watch a file that contains their process id.
  // Touching the file wakes them.
  const mark = wakeMark(home, client, id);
  if (existsSync(mark) && processExists(Number(readFileSync(mark, 'utf8')))) {
    const name = client === 'opencode' ? 'opencode' : 'claude-rewake';
    return { name, send: null, call: () => utimesSync(mark, new Date(), new Date()) };
  }
  // A restarted OpenCode server loads our plugin only at its first prompt. Until then, use the HTTP API of
  // the server.
  const server = URL.parse(registered?.server ?? '');
  if (server === null || !isLoopback(server.hostname)) return null;
  const password = env.OPENCODE_SERVER_PASSWORD;
  const user = env.OPENCODE_SERVER_USERNAME || 'opencode';
  const ask = (path: string, text?: string) =>
    fetch(new URL(`/session/${id}${path}`, server), {
      method: text === undefined ? 'GET' : 'POST',
      headers: {
        'Content-Type': 'application/json',
        ...(password ? { Authorization: `Basic ${btoa(`${user}:${password}`)}` } : {}),
      },
      body: text && JSON.stringify({ parts: [{ type: 'text', text }] }),
      redirect: 'error',
      signal: AbortSignal.timeout(HTTP_MS),
    });
  return {
    name: 'opencode-http',
    // The port may now belong to another program, so check that the answer names this session.
    works: () =>
      ask('')
        .then((answer) => answer.json())
        .then(
          (found) => found?.id === id,
          () => false,
        ),
    async send(text) {
      const answer = await ask('/prompt_async', text);
      if (!answer.ok) throw new Error(`OpenCode answered ${answer.status}`);
    },
  };
}

/** See `AgentHost.wakeCalls`. */
export async function* wakeCalls(
  { client, session }: Pick<Session, 'client' | 'session'>,
  host: Host,
  env: Environment,
): AsyncGenerator<void> {
  if (findRoute({ client, session }, host.home, env)?.send) return;
  const mark = wakeMark(host.home, client, session);
  const own = String(process.pid);
  makeHome(host.home);
  mkdirSync(dirname(mark), { recursive: true, mode: 0o700 });
  writeFileSync(mark, own, { mode: 0o600 });
  for (let seen = 0; existsSync(mark) && readFileSync(mark, 'utf8') === own; await pause(CALL_POLL_MS)) {
    const { pid } = knownSession(host.home, client, session) ?? {};
    if (pid !== undefined && !processExists(pid)) return;
    const { mtimeMs } = statSync(mark);
    if (mtimeMs !== seen) yield;
    seen = mtimeMs;
  }
}

/**
 * Formats a message as a line for the inbox of a Claude Code process. Because the line names the session, a
 * process that now runs another session drops it.
 */
function claudeLine(session: string, text: string): string {
  return `${JSON.stringify({ type: 'user', session_id: session, from: 'relay', message: { role: 'user', content: text } })}\n`;
}

async function writeLine(path: string, line: string): Promise<void> {
  const { connect } = await import('node:net');
  return new Promise((done, failed) => {
    const socket = connect(path, () => socket.end(line));
    socket.once('error', failed);
    socket.once('close', () => done());
    socket.setTimeout(5_000, () => socket.destroy(new Error('The socket of the session does not answer.')));
    socket.resume();
  });
}

/** Returns the record that Claude Code writes about a running session of this user. Returns null if there is none. */
function claudeSession(id: string, env: Environment) {
  const folder = join(env.CLAUDE_CONFIG_DIR || join(env.HOME || homedir(), '.claude'), 'sessions');
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    if (!name.endsWith('.json')) continue;
    const found = readJsonFile(join(folder, name));
    if (found?.sessionId === id && typeof found.pid === 'number' && processExists(found.pid)) return found;
  }
  return null;
}

/** See `AgentHost.present`. */
export function correctPresence(
  listed: { readonly agents: readonly Agent[] },
  env: Environment,
): typeof listed {
  const agents = listed.agents.map((agent): Agent => {
    const { session, alive } = agent;
    if (!session || !alive || session.machine !== hostname()) return agent;
    if (session.pid !== undefined && !processExists(session.pid))
      return { ...agent, alive: false, state: 'silent', session: { ...session, reach: 'start' } };
    const found = session.client === 'claude' ? claudeSession(session.session, env) : null;
    if (found?.status !== 'waiting') return agent;
    return {
      ...agent,
      state: 'stuck',
      session: { ...session, waiting_for: String(found.waitingFor ?? 'a person') },
    };
  });
  return { agents };
}
