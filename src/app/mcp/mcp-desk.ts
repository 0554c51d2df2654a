import { systemEnv } from '../../base/env.ts';
import { RelayError } from '../../base/errors.ts';
import { BRIEF_TOKENS } from '../../base/project-limits.ts';
import type { TokenCounter } from '../../base/tokens.ts';
import { boundedBrief } from '../../client/projects/brief.ts';
import { coldStart } from '../../client/projects/cold-start.ts';
import { may } from '../../contract/authorize.ts';
import type { Caller } from '../../contract/caller.ts';
import { parsePointer, pointerUrl } from '../../contract/pointer-url.ts';
import type { Relay } from '../../contract/relay.ts';
import type { ToolContext } from '../../interfaces/mcp/tool.ts';
import { ContextRelay } from '../../sdk/context-relay.ts';

/** The desk of a request over HTTP: the relay as its sender sees it, and nothing beyond. */
export function remoteDesk(
  { caller, relay, base }: { caller: Caller; relay: Relay; base: string },
  o: { counter: TokenCounter; budget: number },
): ToolContext {
  const client = new ContextRelay({ relay, ownBases: [base] });
  const open = { client, relay, resolve: (url: string) => ownPointer(url, relay, base) };
  return {
    local: false,
    env: systemEnv,
    ...o,
    open: async () => open,
    may: (verb) => may(caller, verb),
  };
}

/** Whatever host a pointer names, it is looked for here and nowhere else: a server fetches nothing for others. */
async function ownPointer(url: string, relay: Relay, base: string): Promise<string> {
  const { id, base: named } = parsePointer(url);
  if (named !== null && named !== base && !(await isHere(id, relay))) {
    throw new RelayError('not_found', {
      what: 'the pointer',
      hint: 'It is not on this relay, and over HTTP others are not asked. Use the stdio server (relay mcp) for pointers of other relays.',
    });
  }
  return pointerUrl(base, id);
}

async function isHere(id: string, relay: Relay): Promise<boolean> {
  return relay.pointers.peek(id).then(
    () => true,
    () => false,
  );
}

/** What `project_brief` answers with: the cold start of the project around a folder. */
export async function briefOf(
  folder: string,
  about: string | undefined,
  counter: TokenCounter,
): Promise<string> {
  const { findProject } = await import('../projects/open-project.ts');
  const project = await findProject(folder);
  if (!project) throw new RelayError('no_project', { path: folder });
  const view = await project.read();
  const draft = await coldStart(view, project.git, about ?? null);
  const count = async (text: string) => (await counter.count(text)).tokens;
  return (await boundedBrief(draft, BRIEF_TOKENS, view.now, count)).text;
}
