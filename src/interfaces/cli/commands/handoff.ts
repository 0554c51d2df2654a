import { BRIEF_TOKENS, SESSION_HANDOFF_TOKENS } from '../../../base/limits.ts';
import { boundedBrief, LEAST_TOKENS } from '../../../client/projects/brief.ts';
import type { Project } from '../../../client/projects/project.ts';
import { startArgv, startCommand, type Transfer, transferDraft } from '../../../client/projects/transfer.ts';
import { FIRST_PROMPT, HANDOFF_FILE, quoteSession } from '../../../client/sessions/evidence.ts';
import type { SessionInfo } from '../../../client/sessions/transcript.ts';
import { frame } from '../../../text/frame.ts';
import { draftAsTyped } from '../as-typed.ts';
import { defineCommand, type Invocation, refusal, rejectTogether } from '../command.ts';
import type { SessionHost } from '../host.ts';
import { parseCount } from '../human.ts';
import { needText, PROJECT_FLAGS, theProject } from '../project-call.ts';
import { findThread } from '../thread-choice.ts';

const handoff = defineCommand({
  usage: '--to AGENT',
  details: `The brief contains the task, what is done and what is next, constraints, relevant decisions, changed files with their lines or
hunks, open todos, commands and the folder structure. Changed files that concern the task come first. Each part names its source. Secrets are masked and
reported. No model is called. With --push it stores the brief and prints a pointer and the command that starts the agent. For
an agent that relay does not know, it prints a prompt instead of the command. To give a sub-agent a task and get its result back, use relay project handoff.

The brief also quotes the session of the agent that hands over: what the user asked and corrected, what failed and with which error, which checks
passed, which files it used, and the last message. Each line names its turn; relay session show 3f2a:41 prints the whole turn. The quoted session is the one that runs this
command, or else the newest session of this repository. --start writes the brief to .relay/handoff.md and opens the next agent in the
project folder; its first prompt names the file.`,
  flags: {
    to: { value: 'AGENT', help: 'the next agent: claude, codex, gemini or any name' },
    ask: { value: 'TEXT', help: 'what the next agent should do (the current task)' },
    context: { multiple: true, value: 'URL|FILE', help: 'what it should read' },
    thread: {
      value: 'ID',
      help: 'include the header of this thread: thread id, its first characters, or name',
    },
    'from-session': { value: 'NAME', help: 'quote this session; see relay session list' },
    'no-session': { help: 'quote no session' },
    start: {
      help: 'open the next agent in the project folder; its first prompt names the file with the brief',
    },
    'max-tokens': {
      value: 'N',
      help: `maximum length of the brief in tokens (${SESSION_HANDOFF_TOKENS}; ${BRIEF_TOKENS} without a session)`,
    },
    push: { help: 'store the brief and print a pointer to it' },
    channel: { value: 'NAME', help: 'with --push: announce the pointer on this channel' },
    ...PROJECT_FLAGS,
  },
  examples: `
    relay handoff --to codex  # print the brief
    relay handoff --to codex --start  # open Codex here to continue the work
    relay handoff --to gemini --ask "finish the parser" --push  # print a pointer and a command that starts the agent`,
  async run(call) {
    const { io, flags } = call;
    const to = needText('--to', flags.to);
    const maxTokens = parseCount(flags['max-tokens'], '--max-tokens', { min: LEAST_TOKENS });
    rejectTogether(flags, 'start', 'push');
    rejectTogether(flags, 'from-session', 'no-session');
    const project = await theProject(call);
    const session = flags['no-session'] ? null : await sessionToQuote(call, flags['from-session']);
    const threads = flags.thread === undefined ? null : (await call.open()).relay.threads;
    const thread = threads && (await threads.header(await findThread(threads, flags.thread!)));
    const o = { to, ask: flags.ask ?? null, pointers: flags.context ?? [], thread };
    if (flags.start) return startWith(call, project, session, o, maxTokens);
    const { draft, brief } = await writeBrief(call, project, session, o, maxTokens);
    const tokens = { ...brief.tokens, tokenizer: 'o200k_base' };
    for (const warning of brief.warnings) io.warn(warning);
    const about = {
      to,
      session: session?.name ?? null,
      tokens,
      omitted: brief.omitted,
      warnings: brief.warnings,
    };
    if (!flags.push) return io.result({ ...about, text: brief.text }, brief.text);
    const client = await (await call.open()).client();
    const metadata = { summary: draft.title, to, from: 'relay handoff' };
    const url = await client.push(brief.text, { metadata, channel: flags.channel || undefined });
    const relay = io.program('anywhere');
    const prompt = `Take over the work described in ${url} (read it with: ${relay} pull ${url}).`;
    const start = startCommand(to, prompt);
    io.result({ ...about, url, prompt, start }, [url, '', start ?? prompt].join('\n'));
  },
});

type Call = Pick<Invocation, 'io' | 'host' | 'open'>;

/** Finds the session that the brief quotes. Returns null if the user named no session and none is found. */
async function sessionToQuote({ host, io }: Call, name: string | undefined): Promise<SessionInfo | null> {
  const sessions = await host.sessions();
  if (name !== undefined) return sessions.find(name, io.cwd);
  return sessions.isOn ? sessions.find(undefined, io.cwd).catch(() => null) : null;
}

async function writeBrief(
  { io, host }: Call,
  project: Project,
  session: SessionInfo | null,
  o: Omit<Transfer, 'session'>,
  max: number | undefined,
) {
  await project.needContext(o.pointers);
  const view = await project.read();
  const sessions = await host.sessions();
  const quotes = session === null ? undefined : await quoteSession(session, quotable(sessions, io.cwd));
  const draft = draftAsTyped(await transferDraft(project, view, { ...o, session: quotes }), io.typed);
  const most = max ?? (session === null ? BRIEF_TOKENS : SESSION_HANDOFF_TOKENS);
  return { draft, brief: await boundedBrief(draft, most, view.now, host.program.countTokens) };
}

/**
 * Returns the functions with which `quoteSession` reads sessions. `find` returns null if a session no longer
 * exists.
 */
export function quotable(sessions: SessionHost, cwd: string): Parameters<typeof quoteSession>[1] {
  return {
    find: (name) => sessions.find(name, cwd).catch(() => null),
    turns: (session) => sessions.turns(session),
  };
}

/**
 * Starts a client with a brief of a session, so that the client continues the work. The folder needs no
 * project files.
 */
export async function startHandoff(
  call: Call,
  { to, session }: { readonly to: string; readonly session: SessionInfo },
): Promise<number> {
  const { host, io } = call;
  const project = (await host.projects.find(io.cwd)) ?? (await host.projects.open(io.cwd));
  return startWith(call, project, session, { to, ask: null, pointers: [], thread: null }, undefined);
}

/**
 * Writes the brief to a file that only this user can read, then starts the client with a fixed prompt that
 * names the file. The command line therefore contains no text of the transcript, and no flag that changes
 * what the client may do.
 */
async function startWith(
  call: Call,
  project: Project,
  session: SessionInfo | null,
  o: Omit<Transfer, 'session'>,
  max: number | undefined,
): Promise<number> {
  const { io, host } = call;
  const argv = startArgv(o.to, FIRST_PROMPT);
  if (argv === null)
    throw refusal(
      'missing',
      `known command that starts ${o.to}`,
      'Use --push, and give the agent the pointer.',
    );
  const { brief } = await writeBrief(call, project, session, o, max);
  for (const warning of brief.warnings) io.warn(warning);
  const source = { what: 'hand-off', by: session?.client ?? 'relay handoff', at: Date.now() };
  const framed = await frame(brief.text, source, source.at, host.relay.frameSecret);
  await project.files.locked(() => project.files.write(HANDOFF_FILE, framed, { mode: 0o600 }));
  const [program, ...args] = argv;
  return (await host.sessions()).startClient(program, args, project.files.folder);
}

export const commands = { handoff };
