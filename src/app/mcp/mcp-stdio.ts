import { homedir } from 'node:os';
import { config as configureZod } from 'zod';
import { systemEnv } from '../../base/env.ts';
import { RelayError } from '../../base/errors.ts';
import { BRIEF_TOKENS } from '../../base/limits.ts';
import type { Host, McpOptions } from '../../interfaces/cli/host.ts';
import { serveMcpStdio } from '../../interfaces/mcp/stdio.ts';
import type { RelayAccess, ToolContext } from '../../interfaces/mcp/tool.ts';
import { readToolNames } from '../../interfaces/mcp/tools.ts';
import { findProject, findProjectFolder } from '../projects/project-files.ts';
import { homeSecret } from '../store/home.ts';
import { ownTextWork } from '../store/own-text-work.ts';

/** Time in ms that running calls may still take after the client has disconnected. */
const END_GRACE_MS = 2_000;

/** Serves MCP over stdin and stdout until the client closes them. Then it closes the relay. */
export async function serveMcp(host: Host, o: McpOptions): Promise<void> {
  // Do not compile validators. That pays off only after thousands of messages, but a stdio client sends
  // dozens and waits for the first answer.
  configureZod({ jitless: true });
  const tools = o.tools === null ? null : readToolNames(o.tools);
  const opened: { relay: Promise<RelayAccess & AsyncDisposable> | null } = { relay: null };
  const openClient = async () => {
    const open = await host.relay.open();
    return { ...open, client: await open.client() };
  };
  const open = (): Promise<RelayAccess> => {
    opened.relay ??= openClient().catch((error) => {
      // The next tool call tries again, because the store may only have been busy.
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
    brief: (about) => briefOf(o.folder, about, o.typed),
  };
  const { stdin, stdout, onError, onWarning } = o;
  await serveMcpStdio(context, { version: host.program.version, tools, stdin, stdout, onError, onWarning });
  // The client has disconnected, so exit even if something still keeps the process alive.
  setTimeout(() => process.exit(), END_GRACE_MS).unref();
  await (await opened.relay)?.[Symbol.asyncDispose]();
}

/**
 * Returns the answer of `project_brief`: the brief of the project that contains the folder. The code is
 * loaded here, because most sessions never need it.
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
