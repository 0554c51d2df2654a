import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { INBOUND } from '../../base/enums.ts';
import { AGENT_NAME_CHARS, AGENT_TEXT_CHARS } from '../../base/limits.ts';
import type { AgentClaim, AgentMessage, Session } from '../../contract/agents.ts';
import { isLoopback } from '../../contract/pointer-url.ts';
import type { Relay } from '../../contract/relay.ts';
import { messageIds } from '../../interfaces/cli/agent-messages.ts';
import type { Attendance, HookedSession, Host } from '../../interfaces/cli/host.ts';
import { inProject } from '../../interfaces/cli/project-call.ts';
import type { Environment } from '../config.ts';
import { processExists } from '../serve/pid-file.ts';
import { readJsonFile, writeJsonFile } from '../store/atomic-file.ts';
import { makeHome } from '../store/home.ts';
import { clientProcess, knownSession, registerSession, wakeMark } from '../store/sessions.ts';
import { findRoute, isWatched, settleSent } from './wake.ts';

/** Maximum number of claims that a session remembers as reported. The oldest are forgotten first. */
const WARNED_MAX = 100;

/**
 * Registers a session with the relay, or updates its state. A hook of the session calls this function. Messages
 * that the prompt already contains are marked as shown, so that no hook shows them again.
 */
export async function attend(hooked: HookedSession, host: Host, env: Environment): Promise<Attendance> {
  const { client, session, folder, transcript } = hooked;
  const { home } = host;
  const registered = knownSession(home, client, session);
  const chosen = env.RELAY_AGENT || chosenName(home, client, folder);
  const requestedName = chosen ?? registered?.agent ?? derivedName(client, folder);
  const open = await host.relay.open({ agent: requestedName });
  const { relay } = open;
  const { pid, program } =
    registered?.pid !== undefined && processExists(registered.pid) ? registered : clientProcess();
  const codexHome = env.CODEX_HOME || undefined;
  const local = {
    client,
    session,
    folder,
    transcript: transcript ?? registered?.transcript,
    server: hooked.server ?? registered?.server,
    codexHome,
    pid,
    program,
    warned: registered?.warned,
  };
  // Register the session locally first: `reachOf` below reads this record to find a route to the session.
  await registerSession(home, { ...local, agent: requestedName });
  if (registered === null) await signOffDead(relay);
  const { project } = inProject(folder);
  const { name, held, unread } = await relay.agents.enter(requestedName, {
    client,
    session,
    folder,
    project,
    machine: hostname(),
    pid,
    reach: reachOf(hooked, host, env),
    busy: hooked.busy,
    works_on: hooked.worksOn?.slice(0, AGENT_TEXT_CHARS),
    inbound: INBOUND.find((each) => each === env.RELAY_INBOUND) ?? 'known',
    named: chosen !== null,
  });
  if (name !== requestedName) await registerSession(home, { ...local, agent: name });
  const arrived = messageIds(hooked.prompt ?? '');
  if (arrived.length > 0) await confirm(relay, name, arrived);
  if (unread > 0) await settleSent(relay, name, local.transcript);
  return {
    name,
    held,
    wakeMark: wakeMark(home, client, session),
    claims: async () => (await relay.agents.claims({ project })).claims.filter(({ by }) => by !== name),
    isWarned: (claim) => local.warned?.includes(claimKey(claim)) ?? false,
    warn: async (claims) => {
      const warned = [...(local.warned ?? []), ...claims.map(claimKey)].slice(-WARNED_MAX);
      if (claims.length > 0) await registerSession(home, { ...local, agent: name, warned });
    },
    take: async () => (unread === 0 ? [] : (await relay.agents.take(name)).messages),
    mark: async (messages, as, route) => {
      if (messages.length > 0)
        await relay.agents.mark(name, { ids: messages.map(({ id }) => id), as, route });
    },
    [Symbol.asyncDispose]: () => open[Symbol.asyncDispose](),
  };
}

function claimKey({ by, what, since }: AgentClaim): string {
  return `${by} ${what} ${since}`;
}

/** Marks the messages in the prompt as shown: the client has delivered them from its own queue. */
async function confirm(relay: Relay, name: string, arrived: readonly string[]): Promise<void> {
  const { messages } = await relay.agents.messages(name);
  const delivered = messages.filter(({ id }: AgentMessage) => arrived.includes(id));
  for (const { id, route } of delivered) await relay.agents.mark(name, { ids: [id], as: 'shown', route });
}

/**
 * Signs off sessions of this machine whose process has ended without running a hook, so that their agent
 * names are free again.
 */
async function signOffDead(relay: Relay): Promise<void> {
  const { agents } = await relay.agents.list();
  for (const { name, alive, session } of agents)
    if (alive && session?.machine === hostname() && session.pid !== undefined && !processExists(session.pid))
      await relay.agents.leave(name, session.session);
}

/**
 * Clients whose hooks show messages late: only at the next prompt (`turn`), or only when a session starts
 * (`start`).
 */
const SLOW_REACH: { readonly [client: string]: Session['reach'] } = {
  gemini: 'turn',
  cursor: 'start',
  vscode: 'start',
};

function reachOf({ client, session }: HookedSession, host: Host, env: Environment): Session['reach'] {
  const slow = SLOW_REACH[client];
  if (slow !== undefined) return slow;
  // Only a process on this machine can wake the session: a sender on the local store, a relay server here, or
  // `relay agents --watch`.
  const near = host.remote === null || isLoopback(new URL(host.remote).hostname) || isWatched(host.home);
  const route = near ? findRoute({ client, session }, host.home, env) : null;
  return route === null || route.name === 'opencode-http' ? 'turn' : 'now';
}

/** Returns a name made of the client and the project: `codex-hono`. */
function derivedName(client: string, folder: string): string {
  const project = inProject(folder).project.toLowerCase();
  return `${client}-${project.replace(/[^\p{L}\p{N}._-]+/gu, '-')}`.slice(0, AGENT_NAME_CHARS - 8);
}

const namesFile = (home: string) => join(home, 'agent-names.json');

/**
 * Returns the agent name that `relay install --agent` stored for a client. A name for the folder comes first, then
 * names for its parent folders, the nearest first, then a name for all folders of the user. Returns null if there is
 * none.
 */
function chosenName(home: string, client: string, folder: string): string | null {
  const names = readJsonFile(namesFile(home)) ?? {};
  for (let at = folder; ; at = dirname(at)) {
    const name = names[`${client} ${at}`];
    if (typeof name === 'string') return name;
    if (dirname(at) === at) break;
  }
  const name = names[client];
  return typeof name === 'string' ? name : null;
}

/** Stores the agent name of a client in a folder or, if `folder` is null, in all folders of the user. */
export async function chooseName(
  home: string,
  client: string,
  folder: string | null,
  name: string,
): Promise<void> {
  makeHome(home);
  const names = {
    ...readJsonFile(namesFile(home)),
    [folder === null ? client : `${client} ${folder}`]: name,
  };
  await writeJsonFile(namesFile(home), names);
}
