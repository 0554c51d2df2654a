import { RelayError } from '../../../base/errors.ts';
import { plainLine } from '../../../client/projects/brief.ts';
import {
  hitsText,
  SESSION_CLIENTS,
  type SessionInfo,
  type Turn,
  turnMarkdown,
} from '../../../client/sessions/transcript.ts';
import { answerCommand, badUsage, defineCommand, type Flags } from '../command.ts';
import type { SessionHost } from '../host.ts';
import { bytes, columns, oneOf, parseCount, plural, printable, span } from '../human.ts';
import { startHandoff } from './handoff.ts';

/**
 * Maximum number of characters per turn when `relay session show` prints a whole session. `relay session show
 * NAME:TURN` prints a whole turn.
 */
const SHOWN_CHARS = 2_000;
const SESSIONS_LISTED = 20;
const HITS = 5;

const SCOPE = {
  all: { help: 'sessions of all folders, not only of this repository' },
} as const satisfies Flags;

const list = answerCommand({
  details: `Lists the sessions of Claude Code, Codex, Gemini CLI and OpenCode in this repository, newest first: name, client, age,
size and first prompt. The transcripts are read where the clients store them, and are never changed.`,
  flags: {
    ...SCOPE,
    client: { value: 'NAME', help: `only this client: ${SESSION_CLIENTS.join(', ')}` },
    limit: { value: 'N', help: `list at most N sessions (${SESSIONS_LISTED})` },
  },
  examples: `
    relay session list  # list the sessions of this repository
    relay session list --all --client codex  # list the sessions of Codex in all folders`,
  async ask({ host, io, flags }) {
    const sessions = await host.sessions();
    const limit = parseCount(flags.limit, '--limit', { min: 1, max: 1_000 }) ?? SESSIONS_LISTED;
    const client = oneOf('--client', flags.client, SESSION_CLIENTS);
    const folder = flags.all ? null : sessions.folderOf(io.cwd);
    return { sessions: (await sessions.list({ folder, client, limit })).map(asJson) };
  },
  print({ sessions }, { interactive, typed, width }, { all }) {
    if (sessions.length === 0)
      return interactive
        ? typed(
            all
              ? 'no coding agent has a session on this machine'
              : 'no sessions in this repository; list all with: relay session list --all',
          )
        : '';
    const rows = sessions.map(({ name, client, updated_at, size, task, folder }) => [
      name,
      client,
      `${span(Date.now() - Date.parse(updated_at))
        .split(' ')
        .slice(0, 2)
        .join(' ')} ago`,
      bytes(size),
      ...(all ? [printable(folder)] : []),
      printable(plainLine(task ?? '(no prompt found)', interactive ? Math.max(40, width - 50) : 120)),
    ]);
    return columns(rows, [3])
      .map((row) => row.trimEnd())
      .join('\n');
  },
});

const show = defineCommand({
  usage: '[session[:turn]]',
  details: `Prints a session as Markdown: prompts, messages of the agent, tool calls with their outcome, compactions. Without a name it
prints the session that runs this command, or else the newest session of this repository. NAME:41 prints the whole of turn 41.
Secrets are masked.`,
  examples: `
    relay session show  # print the newest session of this repository
    relay session show 3f2a:41  # print turn 41
    relay session show 3f2a --json  # print all turns as JSON`,
  async run({ host, io, args }) {
    const sessions = await host.sessions();
    const { session, turn: turnNumber } = await chosen(sessions, args[0], io.cwd);
    const tally = { skipped: 0 };
    if (turnNumber !== null) {
      const turn = await turnOf(sessions, session, turnNumber);
      return io.result({ session: asJson(session), turn }, () => printable(turnMarkdown(turn)).trimEnd());
    }
    if (io.json) {
      const turns = await Array.fromAsync(sessions.turns(session, tally));
      return io.result({ session: asJson(session), turns, skipped: tally.skipped }, '');
    }
    io.print(heading(session));
    for await (const turn of sessions.turns(session, tally)) {
      const text = printable(turnMarkdown(turn, SHOWN_CHARS));
      io.print(
        text.replace(
          /^… (\d+) more characters$/m,
          io.typed(`… $1 more: relay session show ${session.name}:${turn.n}`),
        ),
      );
    }
    if (tally.skipped > 0)
      io.note(`Left out ${plural(tally.skipped, 'line')} of the transcript in an unknown format.`);
  },
});

const search = defineCommand({
  usage: '<words>…',
  details: `Searches prompts, messages, commands and their output for the words, and prints the matching turns, best first. The index is a file in the
home of the relay, readable only by you; a search updates it first, and hooks update it in the background. Secrets are masked before they
are indexed.`,
  flags: {
    ...SCOPE,
    session: { value: 'NAME', help: 'search only this session' },
    limit: { value: 'N', help: `print at most N turns (${HITS})` },
  },
  takes: { min: 1, max: 100 },
  examples: `
    relay session search timeout of the parser  # find turns about it in this repository
    relay session search --session 3f2a npm test  # search one session`,
  async run({ host, io, args, flags }) {
    const sessions = await host.sessions();
    const limit = parseCount(flags.limit, '--limit', { min: 1, max: 100 }) ?? HITS;
    const session = flags.session === undefined ? undefined : await sessions.find(flags.session, io.cwd);
    const folder = flags.all ? null : sessions.folderOf(io.cwd);
    const { hits, behind } = await sessions.search(args.join(' '), { folder, session, limit });
    if (behind > 0) io.note(`Not indexed yet: ${plural(behind, 'session')}. Search again to include them.`);
    const found = hits.map(({ session: from, ...turn }) => ({
      session: from.name,
      client: from.client,
      ...turn,
    }));
    io.result({ hits: found, behind }, () => printable(hitsText(hits, args.join(' '))));
    if (hits.length === 0 && io.interactive) io.note('No turn matches.');
    return hits.length === 0 ? 1 : 0;
  },
});

const exportSession = defineCommand({
  usage: '[session]',
  details: `Stores the session as Markdown, with masked secrets, and prints a pointer to it. It goes to the local store,
or to the server of --url or CONTEXTRELAY_URL. No other command stores a whole session; relay handoff --push stores quotations.`,
  flags: {
    encrypt: { short: 'e', help: 'encrypt on this machine; the relay never sees the key' },
    channel: { short: 'c', value: 'NAME', help: 'announce the pointer on this channel' },
  },
  examples: `
    relay session export 3f2a -e  # print an encrypted pointer to the session
    relay session export  # export the session that runs this command, or else the newest one of this repository`,
  async run({ host, io, args, flags, open }) {
    const sessions = await host.sessions();
    const session = await sessions.find(args[0], io.cwd);
    const parts = [`${heading(session)}\n`];
    for await (const turn of sessions.turns(session)) parts.push(turnMarkdown(turn));
    const client = await (await open()).client();
    const metadata = {
      summary: `session ${session.name} of ${session.client}`,
      from: 'relay session export',
    };
    const encrypted = flags.encrypt === true;
    const pushed = await client.pushDetailed(parts.join('\n'), {
      encrypted,
      metadata,
      channel: flags.channel,
    });
    io.result({ ...pushed, session: asJson(session), encrypted }, pushed.url);
  },
});

const forget = defineCommand({
  usage: '[session]',
  details: `Deletes a session from the search index, and hides it from all commands, hooks and tools of the relay. The transcript itself
stays where it is: delete it with its client. With --all it deletes the whole index. A session that was
hidden stays hidden, also after --all: no command shows it again.`,
  flags: { all: { help: 'delete the whole index' } },
  examples: `
    relay session forget 3f2a  # hide this session
    relay session forget --all  # delete the index`,
  async run({ host, io, args, flags }) {
    if ((args[0] === undefined) !== (flags.all === true))
      throw badUsage('Name one session, or pass --all.', 'Use: relay session forget 3f2a');
    const sessions = await host.sessions();
    const session = flags.all ? null : await sessions.find(args[0], io.cwd);
    await sessions.forget(session);
    io.result(
      { forgotten: session?.name ?? 'all' },
      session === null ? 'deleted the index' : `forgot ${session.name} (${session.client})`,
    );
  },
});

const resume = defineCommand({
  usage: '[session]',
  details: `Writes a brief of a session to .relay/handoff.md and opens a coding agent whose first prompt names that file. Without a
name it uses the session that runs this command, or else the newest session of this repository, of any client. The agent starts a new session; the old session stays as it is. The command does the same as relay handoff --to CLIENT
--from-session NAME --start.`,
  flags: {
    to: {
      value: 'CLIENT',
      help: `open this client: ${SESSION_CLIENTS.join(', ')} (the client of the session)`,
    },
  },
  examples: `
    relay session resume --to codex  # continue the newest session in Codex
    relay session resume 3f2a  # continue this session in a new session of its client`,
  async run(call) {
    const { host, io, args, flags } = call;
    const session = await (await host.sessions()).find(args[0], io.cwd);
    const to = oneOf('--to', flags.to, SESSION_CLIENTS) ?? session.client;
    return startHandoff(call, { to, session });
  },
});

const index = defineCommand({
  details: 'Updates the search index of this repository. Hooks run this command in the background.',
  flags: SCOPE,
  examples: 'relay session index  # index the sessions of this repository',
  async run({ host, io, flags }) {
    const sessions = await host.sessions();
    const indexed = await sessions.index(flags.all ? null : sessions.folderOf(io.cwd));
    io.result({ indexed }, `${plural(indexed, 'session')} in the index`);
  },
});

/**
 * Splits `3f2a:41` into the session `3f2a` and the turn 41, and finds the session. Without a name, finds the
 * current session.
 */
async function chosen(
  sessions: SessionHost,
  text: string | undefined,
  cwd: string,
): Promise<{ session: SessionInfo; turn: number | null }> {
  const [, name, turn] = /^(.*?)(?::(\d+))?$/.exec(text ?? '') ?? [];
  const session = await sessions.find(name || undefined, cwd);
  return { session, turn: turn === undefined ? null : Number(turn) };
}

async function turnOf(sessions: SessionHost, session: SessionInfo, turnNumber: number): Promise<Turn> {
  let last = 0;
  for await (const turn of sessions.turns(session)) {
    if (turn.n === turnNumber) return turn;
    last = turn.n;
  }
  throw new RelayError('no_session', {
    what: `Session ${session.name} has ${plural(last, 'turn')}, not ${turnNumber}.`,
  });
}

function heading({ name, client, id, folder, updatedAt }: SessionInfo): string {
  const when = new Date(updatedAt).toISOString().slice(0, 16).replace('T', ' ');
  return `# Session ${name}: ${client} in ${folder}\n\nId ${id}, last changed ${when} UTC. Texts are quoted from the transcript; secrets are masked.\n`;
}

function asJson({ client, id, name, folder, bytes: size, updatedAt, task }: SessionInfo) {
  return { name, client, id, folder, size, updated_at: new Date(updatedAt).toISOString(), task };
}

export const commands = { list, show, search, export: exportSession, forget, resume, index };
