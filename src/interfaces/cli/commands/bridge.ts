import { BRIDGE_TASKS, PAYLOAD_BYTES, TASK_TIMEOUT_MS } from '../../../base/limits.ts';
import { AgentBridge } from '../../../client/bridge/agent-bridge.ts';
import type { BridgeEvent } from '../../../client/bridge/options.ts';
import type { Runner } from '../../../client/bridge/runner.ts';
import { type Agent, DONE_CHANNEL, PIPELINE_CHANNEL } from '../../../contract/tasks.ts';
import { answerCommand, badUsage, defineCommand, refusal } from '../command.ts';
import type { RunnerSpec } from '../host.ts';
import { moment, oneOf, parseCount, parseMilliseconds, plural, printable, span } from '../human.ts';
import { type Io, interruption } from '../io.ts';
import { openPayload, readAllText, textOrFile, warnOfEncryption } from './payload.ts';
import { taskLine, tellAnswer } from './task.ts';

const start = defineCommand({
  details: `Runs next to the agent until Ctrl-C. Each task is held under a lease while it runs: two bridges never run the
same one, and a bridge that dies loses it to the next. Errors, timeouts and a dead agent come back as failed results.
--exec runs a command for each task, with the task on standard input ({file} and {url} stand for it in the command), RELAY_TASK_ID
and RELAY_TASK_URL in its environment, and the result on its standard output; any exit code but 0 is a failure. Of a task that came
over A2A it also finds RELAY_A2A_MESSAGE (JSON), RELAY_A2A_MESSAGE_ID, RELAY_A2A_TASK_ID and RELAY_A2A_CONTEXT_ID. Where words are not
enough it prints A2A's own JSON and nothing else, such as
{"a2a": "1.0", "task": {"status": {"state": "TASK_STATE_INPUT_REQUIRED", "message": {"parts": [{"text": "Which one?"}]}},
"artifacts": [{"parts": [{"url": "https://…"}]}]}} or {"a2a": "1.0", "message": {"parts": …}}; parts have text, data, url or raw.
--tmux pastes it into a terminal where an agent runs, long ones as one line with the pointer;
--acp drives an agent that speaks the Agent Client Protocol; --a2a calls an agent at an A2A address.
--pipelines goes on with runs of pipelines and does steps again, by the files in this folder alone, for tasks from pipeline-tasks
such as the dashboard sends.
A task in a terminal ends when the agent waits for input again or has shown an outcome block. While the agent asks a person, such
as for a permission, the task stays open: relay task show and relay agents say what is asked, and it goes on with the answer.
agents.json in the relay's home describes agents in terminals that the relay does not know.`,
  flags: {
    tmux: { value: 'SESSION[:WINDOW]', help: 'an agent in a terminal' },
    exec: { value: 'CMD', help: 'a command for each task' },
    acp: { value: 'CMD', help: 'an agent that speaks ACP' },
    a2a: { value: 'URL', help: 'an agent that speaks A2A' },
    pipelines: { value: 'DIR', help: 'runs of the pipelines in this folder' },
    name: { value: 'NAME', help: 'what others call this agent (--to NAME)' },
    'task-channel': { value: 'NAME', help: 'take tasks from here (agent-tasks)' },
    'done-channel': { value: 'NAME', help: 'announce results here (agent-done)' },
    concurrency: { value: 'N', help: 'so many tasks at once (1)' },
    from: { value: 'NAMES', multiple: true, help: 'obey only these senders, by comma' },
    timeout: { value: 'TIME', help: 'for one task: 90s, 15m, 2h (10m)' },
    encrypt: { short: 'e', help: 'encrypt results; senders need the done channel’s key' },
    pointer: { help: 'always give the agent one line with the pointer' },
    plain: { help: 'give the task as it is, and take all of the output' },
    profile: { value: 'NAME', help: 'for --tmux: claude, codex, gemini… (found out)' },
    'stuck-after': {
      value: 'TIME',
      help: 'for --tmux: report a task as stuck when its screen has not changed for this long (60s)',
    },
    allow: { value: 'all|reads|none', help: 'for --acp: what it may do unasked (reads)' },
  },
  examples: `
    relay bridge start --exec "claude -p" --name reviewer  # a new session for each task
    relay bridge start --exec ./word-count.sh --plain  # a program that knows of no agents
    relay bridge start --tmux work:0  # the agent you have open there
    relay bridge start --acp "gemini --acp" --concurrency 3  # three tasks side by side`,
  async run({ io, host, flags, open }) {
    const from = flags.from?.flatMap((names) => names.split(',')).map((name) => name.trim());
    const choice = chosen(flags);
    if (flags.plain && choice === 'tmux')
      throw badUsage('A terminal needs more than the task.', '--plain goes with --exec, --acp and --a2a.');
    const runner =
      choice === 'pipelines'
        ? (await import('./pipeline.ts')).pipelineRunner(io, host, flags.pipelines!)
        : await host.agents.openRunner(readSpec(flags));
    if (from === undefined && io.env.CONTEXTRELAY_API_KEY)
      io.note('It obeys everyone who has a key of this tenant; --from NAMES obeys only those.');
    if (choice === 'tmux' && host.remote !== null && io.env.CONTEXTRELAY_API_KEY)
      io.note('Where the agent runs, CONTEXTRELAY_API_KEY must be set too, so that it can read its tasks.');
    const opened = await open();
    const { resolve } = opened;
    const client = await opened.client();
    const results = flags['done-channel'] ?? DONE_CHANNEL;
    if (flags.encrypt) await warnOfEncryption(io, client, { channel: results });
    const bridge = new AgentBridge(client, {
      runner,
      name: flags.name,
      taskChannel: flags['task-channel'] ?? (choice === 'pipelines' ? PIPELINE_CHANNEL : undefined),
      doneChannel: flags['done-channel'],
      concurrency: parseCount(flags.concurrency, '--concurrency', { min: 1, max: BRIDGE_TASKS }) ?? 1,
      timeout: parseMilliseconds(flags.timeout, '--timeout'),
      from,
      pointer: flags.pointer,
      plain: flags.plain || choice === 'pipelines',
      encrypted: flags.encrypt,
      command: io.env.RELAY_COMMAND || (await host.program.command()),
      resolve,
      onEvent: (event) => tell(io, runner, event),
    });
    const worker = await bridge.start();
    using _ = interruption(() => {
      io.note('stopping; what runs is given back (again to stop at once)');
      void worker.stop();
    });
    if (host.remote !== null) io.note(`on ${host.remote}`);
    await worker.ended;
  },
});

const KINDS = ['tmux', 'exec', 'acp', 'a2a', 'pipelines'] as const;
type Kind = (typeof KINDS)[number];
type Flags = { readonly [K in Kind | 'profile' | 'allow' | 'stuck-after']?: string };

function chosen(flags: Flags): Kind {
  const [kind, ...others] = KINDS.filter((one) => flags[one] !== undefined);
  if (kind !== undefined && others.length === 0) return kind;
  throw badUsage(
    kind === undefined ? 'Which agent?' : 'One bridge serves one agent.',
    'Give one of --tmux SESSION, --exec CMD, --acp CMD, --a2a URL or --pipelines DIR.',
  );
}

function readSpec(flags: Flags): RunnerSpec {
  const { tmux, exec, acp, a2a, profile } = flags;
  const stuckAfter = parseMilliseconds(flags['stuck-after'], '--stuck-after');
  if (tmux !== undefined) return { kind: 'tmux', session: tmux, profile, stuckAfter };
  if (exec !== undefined) return { kind: 'exec', command: exec };
  if (a2a !== undefined) return { kind: 'a2a', url: a2a };
  const allow = oneOf('--allow', flags.allow, ['all', 'reads', 'none']);
  return { kind: 'acp', command: acp!, allow };
}

/** One line for each thing that happens; JSON lines with --json. */
function tell(io: Io, runner: Runner, event: BridgeEvent): void {
  if (io.json) io.print(JSON.stringify(event));
  else if (event.type === 'trouble') io.warn(printable(event.what));
  else if (event.type === 'ready') {
    io.print(`bridge ${io.style.bold(event.name)} to ${runner.kind} ${printable(runner.target)}`);
    io.print(io.style.dim(`tasks from ${event.channels.map(printable).join(' and ')}; Ctrl-C stops it`));
  } else io.print(`${event.id}  ${whatHappened(event)}`);
}

function whatHappened(event: Exclude<BridgeEvent, { type: 'ready' | 'trouble' }>): string {
  switch (event.type) {
    case 'task':
      return `from ${printable(event.from)}${event.attempt > 1 ? `, attempt ${event.attempt}` : ''}`;
    case 'stuck':
      return event.why === null ? 'goes on' : printable(event.why);
    case 'result':
      return `${event.status}${event.summary ? `: ${printable(event.summary)}` : ', encrypted'}`;
    case 'dropped':
      return event.why;
  }
}

const send = defineCommand({
  usage: '<task|->',
  details: `Prints the task's id, or with --wait the result. A task is kept until an agent takes it, also when none is
there yet. Whoever stops waiting can ask again: relay task wait ID.`,
  takes: { max: 1 },
  flags: {
    wait: { short: 'w', help: 'wait for the result and print it' },
    timeout: { value: 'TIME', help: 'wait so long: 90s, 15m, 2h (10m)' },
    to: { value: 'NAME', help: 'for this agent alone (see relay agents)' },
    file: { short: 'f', value: 'FILE', help: 'the task is in this file' },
    encrypt: { short: 'e', help: 'encrypt it; the bridge needs the channel’s key' },
    'task-channel': { value: 'NAME', help: 'where agents look for tasks (agent-tasks)' },
    'done-channel': { value: 'NAME', help: 'where results come back (agent-done)' },
  },
  examples: `
    relay bridge send "Refactor the auth module and run the tests" --wait  # the result, when it is there
    relay bridge send --file brief.md --to reviewer  # for one agent; prints the task’s id`,
  async run({ io, args, flags, open }) {
    // Without words or a file, the task is what is piped in.
    const given = await textOrFile(io, 'task', args[0], flags.file);
    const task = given ?? (await readAllText((await openPayload(io, undefined)).body, PAYLOAD_BYTES));
    const timeout = parseMilliseconds(flags.timeout, '--timeout') ?? TASK_TIMEOUT_MS;
    const opened = await open();
    const { relay, resolve } = opened;
    const client = await opened.client();
    const { 'task-channel': taskChannel, 'done-channel': doneChannel } = flags;
    const bridge = new AgentBridge(client, { taskChannel, doneChannel, resolve });
    const o = { to: flags.to, encrypted: flags.encrypt };
    if (flags.encrypt) await warnOfEncryption(io, client, { channel: bridge.channelFor(flags.to) });
    const { agents } = await relay.agents.list();
    const note = whoIsThere(agents, bridge.taskChannel, flags.to);
    if (note !== null) io.note(note);
    if (flags.wait) return tellAnswer(io, await bridge.sendAndWait(task, { ...o, timeout }));
    const sent = await bridge.send(task, o);
    io.result(sent, () =>
      io.interactive
        ? `${sent.id}\n${io.style.dim(io.typed(`wait for it: relay task wait ${sent.id}`))}`
        : sent.id,
    );
  },
});

/** Where nobody takes the task just now: what is known of those who could. */
function whoIsThere(agents: readonly Agent[], channel: string, to: string | undefined): string | null {
  const able = agents.filter(({ name, bridge }) => bridge && (to === undefined || name === to));
  const here = able.filter(({ bridge }) => bridge!.task_channel === channel);
  if (here.some(({ alive }) => alive)) return null;
  const waits = 'the task waits for one: relay bridge start --help';
  if (to === undefined) return `No bridge is there for ${printable(channel)} yet; ${waits}`;
  const name = printable(to);
  const elsewhere = able.find(({ alive }) => alive)?.bridge?.task_channel;
  if (elsewhere !== undefined) {
    const other = printable(elsewhere);
    return `${name} takes its tasks from ${other} and not from ${printable(channel)}: --task-channel ${other}`;
  }
  const [silent] = here;
  if (silent) return `${name} was last heard of ${moment(silent.last_seen!)}; the task waits for it`;
  return `No bridge called ${name} is there for ${printable(channel)} yet; ${waits}`;
}

const list = answerCommand({
  examples: 'relay bridge list  # which agents take tasks, from where',
  async ask({ open }) {
    const { agents } = await (await open()).relay.agents.list();
    return { bridges: agents.filter(({ kind }) => kind === 'bridge') };
  },
  print: ({ bridges }, io) => bridges.map((each) => agentLine(io, each)).join('\n') || 'no bridges',
});

const status = answerCommand({
  usage: '[name]',
  details: 'The exit code is 1 where no bridge, or not the one named, has been heard of lately.',
  examples: `
    relay bridge status  # all of them
    relay bridge status reviewer  # one, for a script: its exit code says whether it is there`,
  async ask({ args, open }) {
    const { relay } = await open();
    const { agents } = await relay.agents.list();
    const bridges = agents.filter(({ kind, name }) => kind === 'bridge' && (args[0] ?? name) === name);
    if (args[0] !== undefined && bridges.length === 0)
      throw refusal(
        'not_found',
        `a bridge called ${JSON.stringify(args[0])}`,
        'See who is there: relay bridge list',
      );
    const channels = [...new Set(bridges.flatMap((each) => each.channels))];
    const lists = await Promise.all(channels.map((channel) => relay.tasks.list({ channel })));
    const tasks = lists.flatMap((each) => each.tasks);
    const running = tasks.filter(({ state }) => state === 'running');
    const queued = tasks.filter(({ state }) => state === 'queued');
    return { bridges, running, queued };
  },
  print({ bridges, running, queued }, io) {
    const parts = [bridges.map((each) => agentLine(io, each)).join('\n') || 'no bridges'];
    if (running.length > 0) parts.push(['running:', ...running.map((task) => taskLine(io, task))].join('\n'));
    if (queued.length > 0) parts.push(['waiting:', ...queued.map((task) => taskLine(io, task))].join('\n'));
    return parts.join('\n\n');
  },
  exit: ({ bridges }) => (bridges.some(({ alive }) => alive) ? 0 : 1),
});

const agents = answerCommand({
  examples: 'relay agents  # who can be given work, and who reads what',
  ask: async ({ open }) => (await open()).relay.agents.list(),
  print: ({ agents }, io) =>
    agents.map((agent) => agentLine(io, agent)).join('\n') ||
    io.typed('nobody; start one with: relay bridge start --exec "claude -p"'),
});

/** An agent in one line, for lists. */
function agentLine(io: Io, agent: Agent): string {
  const { name, kind, alive, last_seen, bridge, channels } = agent;
  const seen = last_seen === null ? 'never' : `${span(Date.now() - Date.parse(last_seen))} ago`;
  const life = alive === null ? 'follows ' : alive ? io.style.green('alive   ') : io.style.red('silent  ');
  const what =
    kind === 'follower' || !bridge
      ? channels.map(printable).join(', ')
      : `${bridge.runner} ${printable(bridge.target)} · ${printable(bridge.task_channel)} · ${atWork(bridge)}`;
  const line = `${printable(name).padEnd(20)} ${life} ${what}  ${io.style.dim(`seen ${seen}`)}`;
  const stuck = Object.entries(bridge?.stuck ?? {}).map(
    ([task, why]) => `  ${io.style.yellow('stuck')} ${task}  ${printable(why)}`,
  );
  return [line, ...stuck].join('\n');
}

function atWork({ running, concurrency, done, failed }: NonNullable<Agent['bridge']>): string {
  const now = running.length === 0 ? 'idle' : `${running.length} of ${concurrency} running`;
  return `${now}, ${plural(done, 'task')} done${failed > 0 ? `, ${failed} failed` : ''}`;
}

export const commands = { start, send, list, status, agents };
