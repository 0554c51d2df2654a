import { constants, open as openFile, realpath } from 'node:fs/promises';
import { homedir } from 'node:os';
import { resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { config as configureZod } from 'zod';
import { systemEnv } from '../../base/env.ts';
import { badRequest, RelayError, tooLarge } from '../../base/errors.ts';
import { BRIEF_TOKENS, PAYLOAD_BYTES } from '../../base/limits.ts';
import { hitsText, turnText } from '../../client/sessions/transcript.ts';
import type { Host, McpOptions } from '../../interfaces/cli/host.ts';
import { serveMcpStdio } from '../../interfaces/mcp/stdio.ts';
import type { RelayAccess, ToolContext } from '../../interfaces/mcp/tool.ts';
import { readToolChoice } from '../../interfaces/mcp/tools.ts';
import { findProject, findProjectFolder } from '../projects/project-files.ts';
import { isInside } from '../sessions/reader.ts';
import { homeSecret } from '../store/home.ts';
import { ownTextWork } from '../store/own-text-work.ts';
import { agentName } from '../store/sessions.ts';

/** Time in ms for running calls to end after the client has disconnected. */
const END_GRACE_MS = 2_000;

/** Serves MCP over stdin and stdout until the client closes them, then closes the relay. */
export async function serveMcp(host: Host, o: McpOptions): Promise<void> {
  // Compiled validators pay off only after thousands of messages. A stdio client sends dozens and waits for
  // the first answer.
  configureZod({ jitless: true });
  const tools = o.tools === null ? null : readToolChoice(o.tools);
  const opened: { relay: Promise<RelayAccess & AsyncDisposable> | null } = { relay: null };
  const openClient = async (client: string | undefined) => {
    const agent = agentName(
      host.home,
      process.env,
      o.folder,
      CLIENTS.find((name) => client?.includes(name)),
    );
    const open = await host.relay.open(agent === null ? {} : { agent });
    return { ...open, client: await open.client() };
  };
  const open = (client?: string): Promise<RelayAccess> => {
    opened.relay ??= openClient(client).catch((error) => {
      // Forget the failed attempt, so that the next tool call tries again: the store may only have been busy.
      opened.relay = null;
      throw error;
    });
    return opened.relay;
  };
  const folder = findProjectFolder(o.folder, homedir());
  const context: ToolContext = {
    local: true,
    env: systemEnv,
    texts: ownTextWork,
    frameSecret: homeSecret(host.home),
    budget: o.budget,
    open,
    may: () => true,
    project: folder === null ? undefined : () => host.projects.open(folder),
    typed: o.typed,
    readFile: (path, roots) => readInside(path, [o.folder, ...roots.flatMap(folderOf)]),
    brief: (about) => briefOf(o.folder, about, o.typed),
    recall: recallIn(host, o.folder),
    wake: (relay, names) => host.agents.wake(relay, names),
  };
  const { stdin, stdout, onError, onWarning } = o;
  await serveMcpStdio(context, { version: host.program.version, tools, stdin, stdout, onError, onWarning });
  // Exit even if something still keeps the process alive.
  setTimeout(() => process.exit(), END_GRACE_MS).unref();
  await (await opened.relay)?.[Symbol.asyncDispose]();
}

/** Number of turns that `recall` returns. */
const RECALLED = 5;

/** Returns functions that search and read the sessions of the repository that contains the folder. */
function recallIn(host: Host, folder: string): ToolContext['recall'] {
  return {
    async search(query, name) {
      const sessions = await host.sessions();
      const session = name === undefined ? undefined : await sessions.find(name, folder);
      const scope = { folder: sessions.folderOf(folder), session, limit: RECALLED };
      return hitsText((await sessions.search(query, scope)).hits, query);
    },
    async show(turn) {
      const sessions = await host.sessions();
      const [name, n] = turn.split(':');
      const session = await sessions.find(name, folder);
      if (!isInside(session.folder, sessions.folderOf(folder)))
        throw badRequest(
          `Session ${name} belongs to another repository.`,
          'A person can read it: relay session show',
        );
      for await (const each of sessions.turns(session)) if (each.n === Number(n)) return turnText(each);
      return '';
    },
  };
}

/** Names of clients. A client's name in MCP contains one of them. */
const CLIENTS = ['claude', 'codex', 'gemini', 'opencode'];

/** Returns the folder of an MCP root in a list, or an empty list if the root is not a file URL. */
function folderOf(root: string): string[] {
  return root.startsWith('file:') && URL.canParse(root) ? [fileURLToPath(root)] : [];
}

/**
 * Reads a file inside one of the folders. Resolves symbolic links first, so that a link cannot lead outside.
 */
async function readInside(path: string, folders: readonly string[]): Promise<Uint8Array> {
  const failed = (why: string) => badRequest(`The file ${JSON.stringify(path)} ${why}.`);
  const file = await realpath(resolve(folders[0]!, path)).catch(() => null);
  if (file === null) throw failed('does not exist');
  const real = await Promise.all(folders.map((folder) => realpath(folder).catch(() => null)));
  if (
    !real.some((folder) => folder !== null && file.startsWith(folder.endsWith(sep) ? folder : folder + sep))
  )
    throw failed('is outside the working folder and the MCP roots of the client');
  await using opened = await openFile(file, constants.O_RDONLY | constants.O_NONBLOCK);
  const found = await opened.stat();
  if (!found.isFile()) throw failed('is not a regular file');
  if (found.size > PAYLOAD_BYTES) throw tooLarge('a payload', PAYLOAD_BYTES);
  return opened.readFile();
}

/**
 * Returns the answer of `project_brief`: the brief of the project that contains the folder. Loads its code
 * only here, because most sessions never need it.
 */
async function briefOf(
  folder: string,
  about: string | undefined,
  typed: (text: string) => string,
): Promise<string> {
  const [{ coldStart }, { boundedBrief }, { draftAsTyped }] = await Promise.all([
    import('../../client/projects/cold-start.ts'),
    import('../../client/projects/brief.ts'),
    import('../../interfaces/cli/as-typed.ts'),
  ]);
  const project = await findProject(folder);
  if (!project) throw new RelayError('no_project', { path: folder });
  const { draft, now } = await coldStart(project, about ?? null);
  return (await boundedBrief(draftAsTyped(draft, typed), BRIEF_TOKENS, now, ownTextWork.count)).text;
}
