import { AGENT_MESSAGE_BYTES, AGENT_RECIPIENTS, TASK_TIMEOUT_MS } from '../../../base/limits.ts';
import { pause } from '../../../base/pause.ts';
import type { Agent, AgentMessage } from '../../../contract/agents.ts';
import type { Relay } from '../../../contract/relay.ts';
import { claimLine } from '../agent-messages.ts';
import { answerCommand, badUsage, defineCommand } from '../command.ts';
import { moment, parseMilliseconds, parseSpan, plural, printable, span } from '../human.ts';
import { type Io, interruption } from '../io.ts';
import { openPayload, readAllText, textOrFile } from '../payload.ts';
import { inProject } from '../project-call.ts';

/** Interval in ms at which `relay send --wait` asks the relay for answers. */
const POLL_MS = 1_000;

const agents = defineCommand({
  details: `Sessions get messages (relay send), bridges take tasks (relay bridge send), followers read an inbox. The list
says when a session gets a message: at once (it can be woken), at its next turn, or when it starts. If your relay runs on another machine, run relay agents --watch on this
machine to wake the sessions here.`,
  flags: {
    all: { help: 'also list sessions that have ended' },
    watch: { help: 'wake the sessions on this machine when messages arrive, until Ctrl-C' },
  },
  examples: `
    relay agents  # list who is there, what each works on, and how each can be reached
    relay agents --watch  # wake the sessions of this machine`,
  async run({ io, host, flags, open }) {
    const { relay } = await open();
    if (flags.watch) {
      using stop = interruption();
      if (io.interactive && !io.json)
        io.note('waking the sessions of this machine when messages arrive; Ctrl-C to stop');
      await host.agents.watch(relay, stop.signal, ({ name, route }) => {
        if (route !== null)
          io.print(`${new Date().toTimeString().slice(0, 8)} ${printable(name)} woken by ${route}`);
      });
      return;
    }
    const listed = await host.agents.present(await relay.agents.list());
    const agents = listed.agents.filter(({ kind, alive }) => flags.all || kind !== 'session' || alive);
    io.result(
      { agents },
      () =>
        agents.map((agent) => (agent.session ? sessionLine(io, agent) : agentLine(io, agent))).join('\n') ||
        io.typed(
          'no agents; connect one with: relay install claude, or: relay bridge start --exec "claude -p"',
        ),
    );
  },
});

const send = defineCommand({
  usage: '<agent>… <text|->',
  details: `Stores the message, then wakes the session of the agent if its client allows that (see relay agents). A long text is
stored as a payload, and the agent gets an excerpt and a pointer. With --reply-to you name no agent: the answer goes to the sender.`,
  takes: { max: AGENT_RECIPIENTS },
  flags: {
    all: { help: 'send to all running sessions' },
    file: { short: 'f', value: 'FILE', help: 'read the text from this file' },
    pointer: { value: 'URL', help: 'attach this pointer' },
    'reply-to': { value: 'ID', help: 'answer this message' },
    queue: { help: 'store the message for an agent that has not started yet' },
    wait: { short: 'w', help: 'wait for the answer and print it' },
    timeout: { value: 'TIME', help: 'with --wait: maximum time, such as 90s, 15m, 2h (10m)' },
  },
  examples: `
    relay send codex-hono "Please review the last commit"  # send a message
    relay send codex-hono claude-hono --file plan.md  # send a file to two agents
    relay send --reply-to 019a4c "Done, tests pass"  # answer a message
    relay send codex-hono "Which port does the server use?" --wait  # wait for the answer`,
  async run({ io, host, args, flags, open }) {
    const reply_to = flags['reply-to'];
    const names = flags.file === undefined ? args.slice(0, -1) : args;
    if (names.length === 0 && !flags.all && reply_to === undefined)
      throw badUsage(
        'The name of the agent or the text is missing.',
        'Use: relay send NAME "text". List the agents with: relay agents',
      );
    const typed = await textOrFile(
      io,
      'text',
      flags.file === undefined ? args.at(-1) : undefined,
      flags.file,
    );
    const text = typed ?? (await readAllText((await openPayload(io, undefined)).body, AGENT_MESSAGE_BYTES));
    const timeout = parseMilliseconds(flags.timeout, '--timeout') ?? TASK_TIMEOUT_MS;
    const { relay } = await open();
    const to = flags.all ? '*' : names.length > 0 ? names : null;
    const o = { url: flags.pointer, queue: flags.queue, reply_to, idempotency_key: crypto.randomUUID() };
    const { messages } = await relay.agents.send(to, text, o);
    const recipients = messages.map((each) => each.to);
    const woken = await host.agents.wake(relay, recipients).catch(() => []);
    const routes = new Map(woken.map(({ name, route }) => [name, route]));
    if (flags.wait) return waitForAnswers(io, relay, messages, timeout);
    const listed = io.json ? null : await host.agents.present(await relay.agents.list());
    io.result({ messages: messages.map((each) => ({ ...each, route: routes.get(each.to) ?? null })) }, () =>
      messages
        .map(({ id, to: name }) => {
          const route = routes.get(name);
          const session = listed?.agents.find((each) => each.name === name)?.session;
          // A session that can be woken but was not woken usually runs on another machine, where `relay
          // agents --watch` can wake it. If it runs on this machine, waking it failed.
          const later =
            session?.reach === 'now'
              ? 'not woken from here; told at its next turn at the latest'
              : session
                ? REACH[session.reach]
                : 'waits in its inbox';
          return `${id}  ${printable(name)}  ${io.style.dim(route ? `passed on by ${route}` : later)}`;
        })
        .join('\n'),
    );
  },
});

/** How a session gets its messages, in words for people, by the `reach` of the agent. */
const REACH = {
  now: 'can be woken',
  turn: 'told at its next turn',
  start: 'told when it starts',
  no: 'reads its messages itself',
};

/**
 * Prints the answers to sent messages as they arrive. Returns 1 if an answer is still missing after the
 * timeout.
 */
async function waitForAnswers(
  io: Io,
  relay: Relay,
  messages: readonly AgentMessage[],
  timeout: number,
): Promise<number> {
  const waiting = new Map(messages.map((each) => [each.id, each]));
  const answers: AgentMessage[] = [];
  for (const end = Date.now() + timeout; waiting.size > 0 && Date.now() < end; ) {
    for (const { id, conversation } of waiting.values()) {
      const found = await relay.agents.conversation(conversation);
      const answer = found.messages.find(({ reply_to }) => reply_to === id);
      if (!answer) continue;
      answers.push(answer);
      waiting.delete(id);
      await relay.agents.mark(answer.to, { ids: [answer.id], as: 'read' });
      if (!io.json) io.print(printable(answer.text) + (answer.url ? `\n${answer.url}` : ''));
    }
    if (waiting.size > 0) await pause(POLL_MS);
  }
  if (io.json) io.print(JSON.stringify({ answers, unanswered: [...waiting.keys()] }));
  for (const { to, id } of waiting.values())
    io.warn(`${printable(to)} has not answered yet. The message ${id} stays in its inbox.`);
  return waiting.size === 0 ? 0 : 1;
}

const conversations = defineCommand({
  usage: '[id]',
  details:
    'Agents can exchange 20 messages in a conversation. After that, a person has to allow more with --proceed.',
  flags: { proceed: { help: 'allow 20 more messages' } },
  examples: `
    relay conversations  # list the conversations of agents, newest first
    relay conversations 019a4c9be1f0a1b2c3d4e5f6a7  # show its messages with their receipts
    relay conversations 019a4c9be1f0a1b2c3d4e5f6a7 --proceed  # allow 20 more messages`,
  async run({ io, args, flags, open }) {
    const { relay } = await open();
    const [id] = args;
    if (flags.proceed) {
      if (id === undefined)
        throw badUsage('The id of the conversation is missing.', 'Use: relay conversations ID --proceed');
      const allowed = await relay.agents.proceed(id);
      io.result(allowed, () => `${allowed.id} may have ${plural(allowed.limit, 'message')}`);
    } else if (id === undefined) {
      const listed = await relay.agents.conversations();
      io.result(
        listed,
        () =>
          listed.conversations
            .map((each) => {
              const who = each.agents.map((name) => printable(name)).join(', ');
              const full = each.messages >= each.limit ? io.style.yellow('  waits for a person') : '';
              const line = `${each.id}  ${who}  ${plural(each.messages, 'message')}, ${moment(each.last_at)}${full}`;
              return `${line}\n  ${io.style.dim(printable(each.about.replace(/\s+/g, ' ').slice(0, 100)))}`;
            })
            .join('\n') || 'no conversations',
      );
    } else {
      const found = await relay.agents.conversation(id);
      io.result(found, () => found.messages.map((message) => messageRow(io, message)).join('\n'));
    }
  },
});

/** Formats a message with its receipt and its text. */
export function messageRow(io: Io, message: AgentMessage): string {
  const { id, from, agent, to, at, state, route, held, url, text } = message;
  const receipt = held ? 'held: unknown sender' : route && state === 'shown' ? `shown by ${route}` : state;
  const head = `${id}  ${printable(agent ?? from)} to ${printable(to)}  ${moment(at)}  ${receipt}`;
  const body = (url ? `${text}\n${url}` : text).split('\n').map((line) => `  ${printable(line)}`);
  return [io.style.dim(head), ...body].join('\n');
}

const claim = answerCommand({
  usage: '<pattern>',
  details: `Other agents see the claim in their brief and cannot claim the same files. It is advisory: nothing is locked. The hooks of a coding agent renew it (see relay install); without
hooks, claim again. * matches within a folder, ** across folders. To claim a todo, use relay todo claim.`,
  flags: { ttl: { value: 'TIME', help: 'expire after this time without a renewal: 90s, 15m, 2h (15m)' } },
  examples: `
    relay claim 'src/auth/**'  # tell other agents that you work there
    relay claim docs/api.md --ttl 1h  # claim one file for an hour`,
  async ask({ io, args, flags, open }) {
    const ttl = parseSpan(flags.ttl, '--ttl');
    const { project, path } = inProject(io.cwd, args[0]!);
    return (await open()).relay.agents.claim(project, path, { ttl });
  },
  print: (held) => claimLine(held),
});

const release = answerCommand({
  usage: '<pattern>',
  examples: "relay release 'src/auth/**'  # let others work there",
  async ask({ io, args, open }) {
    const { project, path } = inProject(io.cwd, args[0]!);
    const { relay } = await open();
    const { claims } = await relay.agents.claims({ project });
    await relay.agents.release(project, path);
    return { project, what: path, released: claims.some(({ what }) => what === path) };
  },
  print: ({ what, released }) =>
    released
      ? `released ${printable(what)}`
      : `nobody has claimed ${printable(what)}; list the claims with: relay claims`,
});

const claims = answerCommand({
  flags: { all: { help: 'list the claims of all projects' } },
  examples: 'relay claims  # list what agents have claimed in this project',
  async ask({ io, flags, open }) {
    const project = flags.all ? undefined : inProject(io.cwd).project;
    return (await open()).relay.agents.claims({ project });
  },
  print: ({ claims: held }) => held.map((each) => claimLine(each)).join('\n') || 'no claims',
});

/**
 * Formats a session: one line with its state, and one line for each further fact, such as what it works on.
 */
function sessionLine(
  io: Io,
  { name, state, last_seen, session, unread = 0, held = 0, claims = [] }: Agent,
): string {
  const { client, folder, machine, reach, works_on, waiting_for } = session!;
  const paint = {
    working: io.style.green,
    idle: io.style.green,
    stuck: io.style.yellow,
    silent: io.style.dim,
  };
  const life = paint[state!]((state === 'silent' ? 'ended' : state === 'stuck' ? 'waits' : state!).padEnd(8));
  const seen = `seen ${span(Date.now() - Date.parse(last_seen!))} ago`;
  const where = `${client} · ${printable(folder)} on ${printable(machine)} · ${REACH[reach]}`;
  const notes = [
    ...(waiting_for ? [io.style.yellow(`waits for a person: ${printable(waiting_for)}`)] : []),
    ...(works_on ? [`works on: ${printable(works_on)}`] : []),
    ...(claims.length > 0 ? [`holds ${claims.map(printable).join(', ')}`] : []),
    ...(unread > 0 ? [`${plural(unread, 'message')} not shown yet`] : []),
    ...(held > 0
      ? [
          io.style.yellow(
            `${held} of them held; allow a sender with: relay inbox --as ${printable(name)} --allow NAME`,
          ),
        ]
      : []),
  ];
  const line = `${printable(name).padEnd(20)} ${life} ${where}  ${io.style.dim(seen)}`;
  return [line, ...notes.map((note) => `  ${note}`)].join('\n');
}

/** Formats an agent as one line, and each of its stuck tasks as one more line. */
export function agentLine(io: Io, agent: Agent): string {
  const { name, kind, alive, last_seen, bridge, channels } = agent;
  const seen = last_seen === null ? 'never' : `${span(Date.now() - Date.parse(last_seen))} ago`;
  const life = alive === null ? 'follows ' : alive ? io.style.green('alive   ') : io.style.red('silent  ');
  const what =
    kind === 'follower' || !bridge
      ? channels.map(printable).join(', ')
      : `${bridge.runner} ${printable(bridge.target)} · ${printable(bridge.task_channel)} · ${bridgeLoad(bridge)}`;
  const line = `${printable(name).padEnd(20)} ${life} ${what}  ${io.style.dim(`seen ${seen}`)}`;
  const stuck = Object.entries(bridge?.stuck ?? {}).map(
    ([task, why]) => `  ${io.style.yellow('stuck')} ${task}  ${printable(why)}`,
  );
  return [line, ...stuck].join('\n');
}

function bridgeLoad({ running, concurrency, done, failed }: NonNullable<Agent['bridge']>): string {
  const now = running.length === 0 ? 'idle' : `${running.length} of ${concurrency} running`;
  return `${now}, ${plural(done, 'task')} done${failed > 0 ? `, ${failed} failed` : ''}`;
}

export const commands = { agents, send, conversations, claim, release, claims };
