import { AGENT_ALIVE_MS, BRIDGE_TASKS, PAYLOAD_BYTES, TASK_TIMEOUT_MS } from '../../../base/limits.ts';
import { AgentBridge } from '../../../client/bridge/agent-bridge.ts';
import type { BridgeEvent } from '../../../client/bridge/options.ts';
import type { Runner } from '../../../client/bridge/runner.ts';
import type { Agent } from '../../../contract/agents.ts';
import { DONE_CHANNEL, PIPELINE_CHANNEL } from '../../../contract/tasks.ts';
import { answerCommand, badUsage, defineCommand, refusal } from '../command.ts';
import type { RunnerSpec } from '../host.ts';
import { moment, oneOf, parseCount, parseMilliseconds, printable } from '../human.ts';
import { type Io, interruption } from '../io.ts';
import { openPayload, readAllText, textOrFile, warnOfEncryption } from '../payload.ts';
import { agentLine } from './agents.ts';
import { printAnswer, taskLine } from './task.ts';

const start = defineCommand({
  usage: '--tmux TARGET | --exec CMD | --acp CMD | --a2a URL | --pipelines DIR',
  details: `Runs until Ctrl-C. Each task goes to one bridge; if that bridge stops, another one takes the task. Errors and timeouts
are returned as failed results. With --exec the command reads the task from standard input and prints the
result; a nonzero exit code is a failure. In CMD, {file} stands for a file with the task and {url} for its pointer. See relay help guide bridges.`,
  flags: {
    tmux: {
      value: 'TARGET',
      help: 'an agent in a tmux terminal: a tmux target such as work, work:0 or work:0.1',
    },
    exec: { value: 'CMD', help: 'a shell command, run for each task' },
    acp: { value: 'CMD', help: 'an agent that speaks ACP (Agent Client Protocol)' },
    a2a: { value: 'URL', help: 'a remote agent that speaks A2A' },
    pipelines: {
      value: 'DIR',
      help: 'resume runs and repeat steps of the pipelines in this folder when someone asks for it in the dashboard',
    },
    name: { value: 'NAME', help: 'name of this agent, for --to NAME' },
    'task-channel': {
      value: 'NAME',
      help: 'read tasks from this channel (agent-tasks; with --pipelines pipeline-tasks)',
    },
    'done-channel': { value: 'NAME', help: 'announce results on this channel (agent-done)' },
    concurrency: { value: 'N', help: 'run at most N tasks at once (1)' },
    from: { value: 'NAMES', multiple: true, help: 'accept tasks only from these senders: a,b' },
    timeout: { value: 'TIME', help: 'maximum time per task: 90s, 15m, 2h (10m)' },
    encrypt: { short: 'e', help: 'encrypt results; needs a key for the channel of --done-channel' },
    pointer: { help: 'always send the agent a pointer, not the text' },
    plain: {
      help: 'send the task text without instructions; everything printed is the result (not with --tmux)',
    },
    profile: { value: 'NAME', help: 'for --tmux: the program in the terminal: claude, codex, … (detected)' },
    'stuck-after': {
      value: 'TIME',
      help: 'for --tmux: report the task as stuck if the screen does not change for this time (60s)',
    },
    allow: {
      value: 'all|reads|none',
      help: 'for --acp: which actions to allow; all others are rejected (reads)',
    },
  },
  examples: `
    relay bridge start --exec "claude -p" --name reviewer  # start a new agent session for each task
    relay bridge start --tmux work:0  # use the agent that is open in this terminal
    relay bridge start --acp "gemini --acp" --concurrency 3  # run three tasks at once`,
  async run({ io, host, flags, open }) {
    const from = flags.from?.flatMap((names) => names.split(',')).map((name) => name.trim());
    const choice = chooseKind(flags);
    if (flags.plain && choice === 'tmux')
      throw badUsage('--plain cannot be used with --tmux.', 'Use --plain with --exec, --acp or --a2a.');
    const runner =
      choice === 'pipelines'
        ? (await import('./pipeline.ts')).pipelineRunner(io, host, flags.pipelines!)
        : await host.agents.openRunner(readSpec(flags));
    if (from === undefined && io.env.CONTEXTRELAY_API_KEY)
      io.note('Accepts tasks from every key of this tenant. Use --from NAMES to accept only some senders.');
    if (choice === 'tmux' && host.remote !== null && io.env.CONTEXTRELAY_API_KEY)
      io.note('Set CONTEXTRELAY_API_KEY in the terminal of the agent too, so that it can read its tasks.');
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
      onEvent: (event) => printEvent(io, runner, event),
    });
    const worker = await bridge.start();
    using _ = interruption(() => {
      io.note('Stopping. Running tasks are returned to the queue. Press Ctrl-C again to stop at once.');
      void worker.stop();
    });
    if (host.remote !== null) io.note(`on ${host.remote}`);
    await worker.ended;
  },
});

const KINDS = ['tmux', 'exec', 'acp', 'a2a', 'pipelines'] as const;
type Kind = (typeof KINDS)[number];
type Flags = { readonly [K in Kind | 'profile' | 'allow' | 'stuck-after']?: string };

function chooseKind(flags: Flags): Kind {
  const [kind, ...others] = KINDS.filter((one) => flags[one] !== undefined);
  if (kind !== undefined && others.length === 0) return kind;
  throw badUsage(
    kind === undefined ? 'The agent is missing.' : 'A bridge serves only one agent.',
    'Use one of --tmux TARGET, --exec CMD, --acp CMD, --a2a URL or --pipelines DIR.',
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

/** Prints an event of a bridge as one line: text, or JSON with --json. */
function printEvent(io: Io, runner: Runner, event: BridgeEvent): void {
  const at = new Date();
  const time = io.style.dim(at.toTimeString().slice(0, 8));
  if (io.json) io.print(JSON.stringify({ at: at.toISOString(), ...event }));
  else if (event.type === 'trouble') io.warn(`${time} ${printable(event.what)}`);
  else if (event.type === 'ready') {
    io.print(`${time} bridge ${io.style.bold(event.name)} to ${runner.kind} ${printable(runner.target)}`);
    io.print(io.style.dim(`tasks from ${event.channels.map(printable).join(' and ')}; press Ctrl-C to stop`));
  } else io.print(`${time} ${event.id}  ${describeEvent(event)}`);
}

function describeEvent(event: Exclude<BridgeEvent, { type: 'ready' | 'trouble' }>): string {
  switch (event.type) {
    case 'task':
      return `from ${printable(event.from)}${event.attempt > 1 ? `, attempt ${event.attempt}` : ''}`;
    case 'stuck':
      return event.why === null ? 'continues' : printable(event.why);
    case 'result':
      return `${event.status}${event.summary ? `: ${printable(event.summary)}` : ', encrypted'}`;
    case 'dropped':
      return event.why;
  }
}

const send = defineCommand({
  usage: '<task|->',
  details: `Prints the id of the task, or the result with --wait. The task is queued until an agent takes it, even if no bridge
runs yet. To wait later, use relay task wait ID.`,
  takes: { max: 1 },
  flags: {
    wait: { short: 'w', help: 'wait for the result and print it' },
    timeout: { value: 'TIME', help: 'with --wait: maximum time, such as 90s, 15m, 2h (10m)' },
    to: { value: 'NAME', help: 'send only to this agent (see relay agents)' },
    file: { short: 'f', value: 'FILE', help: 'read the task from this file' },
    encrypt: { short: 'e', help: 'encrypt the task; the bridge needs the key of the channel' },
    'task-channel': { value: 'NAME', help: 'channel to send the task to (agent-tasks)' },
    'done-channel': { value: 'NAME', help: 'channel for the result (agent-done)' },
  },
  examples: `
    relay bridge send "Refactor the auth module and run the tests" --wait  # wait for the result
    relay bridge send --file brief.md --to reviewer  # send to one agent and print the task id`,
  async run({ io, args, flags, open }) {
    // Without an argument or a file, read the task from standard input.
    const taskText = await textOrFile(io, 'task', args[0], flags.file);
    const task = taskText ?? (await readAllText((await openPayload(io, undefined)).body, PAYLOAD_BYTES));
    const timeout = parseMilliseconds(flags.timeout, '--timeout') ?? TASK_TIMEOUT_MS;
    const opened = await open();
    const { relay, resolve } = opened;
    const client = await opened.client();
    const { 'task-channel': taskChannel, 'done-channel': doneChannel } = flags;
    const bridge = new AgentBridge(client, { taskChannel, doneChannel, resolve });
    const o = { to: flags.to, encrypted: flags.encrypt };
    if (flags.encrypt) await warnOfEncryption(io, client, { channel: bridge.channelFor(flags.to) });
    const { agents } = await relay.agents.list();
    const note = noAgentNote(agents, bridge.taskChannel, flags.to);
    if (note !== null) io.note(note);
    if (flags.wait) return printAnswer(io, await bridge.sendAndWait(task, { ...o, timeout }));
    const sent = await bridge.send(task, o);
    io.result(sent, () =>
      io.interactive
        ? `${sent.id}\n${io.style.dim(io.typed(`wait for the result: relay task wait ${sent.id}`))}`
        : sent.id,
    );
  },
});

/** Returns a note if no running bridge can take the task, otherwise null. */
function noAgentNote(agents: readonly Agent[], channel: string, to: string | undefined): string | null {
  const able = agents.filter(({ name, bridge }) => bridge && (to === undefined || name === to));
  const here = able.filter(({ bridge }) => bridge!.task_channel === channel);
  if (here.some(({ alive }) => alive)) return null;
  const waits = 'The task is queued. Start a bridge with: relay bridge start';
  if (to === undefined) return `No bridge reads from ${printable(channel)} yet. ${waits}`;
  const name = printable(to);
  const elsewhere = able.find(({ alive }) => alive)?.bridge?.task_channel;
  if (elsewhere !== undefined) {
    const other = printable(elsewhere);
    return `${name} reads tasks from ${other}, not from ${printable(channel)}. Use --task-channel ${other}`;
  }
  const [silent] = here;
  if (silent)
    return `${name} was last seen ${moment(silent.last_seen!)}. The task is queued until it is back.`;
  return `No bridge called ${name} reads from ${printable(channel)} yet. ${waits}`;
}

const list = answerCommand({
  examples: 'relay bridge list  # list bridges with agent, channel and heartbeat',
  async ask({ open }) {
    const { agents } = await (await open()).relay.agents.list();
    return { bridges: agents.filter(({ kind }) => kind === 'bridge') };
  },
  print: ({ bridges }, io) => bridges.map((each) => agentLine(io, each)).join('\n') || 'no bridges',
});

const status = answerCommand({
  usage: '[name]',
  details: `The exit code is 0 if a bridge, or the named bridge, has sent a heartbeat in the last ${AGENT_ALIVE_MS / 1000} seconds. Otherwise it is 1.`,
  examples: `
    relay bridge status  # show all bridges
    relay bridge status reviewer  # show one bridge; the exit code says if it is alive`,
  async ask({ args, open }) {
    const { relay } = await open();
    const { agents } = await relay.agents.list();
    const bridges = agents.filter(({ kind, name }) => kind === 'bridge' && (args[0] ?? name) === name);
    if (args[0] !== undefined && bridges.length === 0)
      throw refusal(
        'not_found',
        `a bridge called ${JSON.stringify(args[0])}`,
        'List the bridges with: relay bridge list',
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
    if (queued.length > 0) parts.push(['queued:', ...queued.map((task) => taskLine(io, task))].join('\n'));
    return parts.join('\n\n');
  },
  exit: ({ bridges }) => (bridges.some(({ alive }) => alive) ? 0 : 1),
});

export const commands = { start, send, list, status };
