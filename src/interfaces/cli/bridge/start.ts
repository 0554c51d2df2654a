import { BRIDGE_TASKS } from '../../../base/limits.ts';
import { AgentBridge } from '../../../client/bridge/agent-bridge.ts';
import type { BridgeEvent } from '../../../client/bridge/options.ts';
import type { Runner } from '../../../client/bridge/runner.ts';
import { DONE_CHANNEL, PIPELINE_CHANNEL } from '../../../contract/task-names.ts';
import { warnOfEncryption } from '../channels/encryption-words.ts';
import { badUsage, defineCommand } from '../command.ts';
import type { RunnerSpec } from '../host.ts';
import { oneOf, parseCount, parseMilliseconds, printable } from '../human.ts';
import { type Io, interruption } from '../io.ts';

export default defineCommand({
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
  examples: [
    ['relay bridge start --exec "claude -p" --name reviewer', 'a new session for each task'],
    ['relay bridge start --exec ./word-count.sh --plain', 'a program that knows of no agents'],
    ['relay bridge start --tmux work:0', 'the agent you have open there'],
    ['relay bridge start --acp "gemini --acp" --concurrency 3', 'three tasks side by side'],
  ],
  async run({ io, host, flags, open }) {
    const from = flags.from?.flatMap((names) => names.split(',')).map((name) => name.trim());
    const choice = chosen(flags);
    if (flags.plain && choice === 'tmux') {
      throw badUsage('A terminal needs more than the task.', '--plain goes with --exec, --acp and --a2a.');
    }
    const runner =
      choice === 'pipelines'
        ? (await import('./pipeline-runner.ts')).pipelineRunner(io, host, flags.pipelines!)
        : await host.openRunner(readSpec(flags));
    if (from === undefined && io.env.CONTEXTRELAY_API_KEY) {
      io.note('It obeys everyone who has a key of this tenant; --from NAMES obeys only those.');
    }
    if (choice === 'tmux' && host.remote !== null && io.env.CONTEXTRELAY_API_KEY) {
      io.note('Where the agent runs, CONTEXTRELAY_API_KEY must be set too, so that it can read its tasks.');
    }
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
      command: io.env.RELAY_COMMAND || (await host.command()),
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
  if (io.json) {
    io.print(JSON.stringify(event));
    return;
  }
  switch (event.type) {
    case 'ready':
      io.print(`bridge ${io.style.bold(event.name)} to ${runner.kind} ${printable(runner.target)}`);
      io.print(io.style.dim(`tasks from ${event.channels.map(printable).join(' and ')}; Ctrl-C stops it`));
      return;
    case 'task':
      io.print(
        `${event.id}  from ${printable(event.from)}${event.attempt > 1 ? `, attempt ${event.attempt}` : ''}`,
      );
      return;
    case 'stuck':
      io.print(`${event.id}  ${event.why === null ? 'goes on' : printable(event.why)}`);
      return;
    case 'result':
      io.print(
        `${event.id}  ${event.status}${event.summary ? `: ${printable(event.summary)}` : ', encrypted'}`,
      );
      return;
    case 'dropped':
      io.print(`${event.id}  ${event.why}`);
      return;
    case 'trouble':
      io.warn(printable(event.what));
  }
}
