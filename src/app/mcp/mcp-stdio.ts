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

/** How long what is still under way may take once the client is gone. */
const END_GRACE_MS = 2_000;

/** Serves MCP over this process's own pipe until the client closes it, and leaves nothing behind. */
export async function serveMcp(host: Host, o: McpOptions): Promise<void> {
  // Compiling checks pays off over thousands of messages; a client at the other end of a pipe sends dozens, and waits for the first.
  configureZod({ jitless: true });
  const tools = o.tools === null ? null : readToolNames(o.tools);
  const opened: { relay: Promise<RelayAccess & AsyncDisposable> | null } = { relay: null };
  const openClient = async () => {
    const open = await host.relay.open();
    return { ...open, client: await open.client() };
  };
  const open = (): Promise<RelayAccess> => {
    opened.relay ??= openClient().catch((error) => {
      // The next tool tries again: a store that is busy now need not be so then.
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
  // Whatever should still hold the process, a client that is gone waits for none of it.
  setTimeout(() => process.exit(), END_GRACE_MS).unref();
  await (await opened.relay)?.[Symbol.asyncDispose]();
}

/** What `project_brief` answers with: the cold start of the project around a folder. Most sessions never ask for it. */
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
