import { isRelayError, RelayError } from '../../../base/errors.ts';
import { TASK_SUMMARY_CHARS, TASK_TIMEOUT_MS, TASKS_LISTED } from '../../../base/limits.ts';
import { AgentBridge } from '../../../client/bridge/agent-bridge.ts';
import type { TaskAnswer } from '../../../client/bridge/options.ts';
import { firstLine } from '../../../client/bridge/outcome.ts';
import { pushResult } from '../../../client/bridge/task-run.ts';
import { parsePointer } from '../../../contract/pointer-url.ts';
import { type Settlement, TASK_STATES, type TaskInfo, type TaskResult } from '../../../contract/tasks.ts';
import { isCiphertext } from '../../../sdk/encryption.ts';
import { answerCommand, badUsage, type Command, defineCommand, type Invocation } from '../command.ts';
import type { OpenClient } from '../host.ts';
import { moment, oneOf, parseCount, parseMilliseconds, printable, rows, span } from '../human.ts';
import type { Io } from '../io.ts';
import { pointerArgument, textOrFile, warnOfEncryption } from '../payload.ts';

/** Formats a task as one line for lists. */
export function taskLine(io: Io, task: TaskInfo): string {
  const { green, red, cyan, yellow } = io.style;
  const word = task.stuck === null ? task.state : 'stuck';
  const paint = { done: green, failed: red, running: cyan, stuck: yellow }[word as 'done'];
  const state = word.padEnd(7);
  const about = task.result?.summary ?? task.summary ?? '';
  const who = task.agent ? ` (${printable(task.agent)})` : '';
  const age = span(Date.now() - Date.parse(task.created_at));
  return `${task.id}  ${paint ? paint(state) : state}  ${printable(about).slice(0, 60)}${who}  ${io.style.dim(age)}`;
}

function taskFacts(io: Io, task: TaskInfo): string {
  const { lease, result } = task;
  const orNull = (text: string | null | undefined) => (text ? printable(text) : null);
  return rows(io.style.dim, [
    ['state', task.state + (task.attempt > 1 ? `, attempt ${task.attempt}` : '')],
    ['stuck', orNull(task.stuck)],
    ['about', orNull(task.summary)],
    ['from', `${printable(task.from)}, ${moment(task.created_at)}`],
    ['channel', `${printable(task.channel)} → ${printable(task.done_channel)}`],
    ['task', task.url],
    ['agent', orNull(task.agent)],
    ['lease', lease && `${printable(lease.member)}, ${moment(lease.lease_until)}`],
    [
      'result',
      result &&
        `${printable(result.summary ?? 'no summary')} (${printable(result.by)}, ${moment(result.at)})`,
    ],
    ['', result?.url ?? null],
  ]);
}

/** Prints the result of a task and returns the exit code. If the task failed, stderr says why. */
export function printAnswer(io: Io, answer: TaskAnswer): number {
  io.result(answer, answer.text);
  if (answer.status === 'done') return 0;
  const why = answer.summary ?? firstLine(answer.text, TASK_SUMMARY_CHARS);
  const how = answer.status === 'canceled' ? 'was canceled' : 'failed';
  if (!io.json) io.warn(`the task ${how}: ${printable(why)}`);
  return 1;
}

/** Creates the bridge client, which sends tasks and waits for results. */
async function openBridge(open: Invocation['open']): Promise<AgentBridge> {
  const opened = await open();
  return new AgentBridge(await opened.client(), { resolve: opened.resolve });
}

/** Returns the id of a task. The argument is an id or a pointer, or `-` for standard input. */
async function taskArgument(io: Io, word: string): Promise<string> {
  try {
    return parsePointer(await pointerArgument(io, word)).id;
  } catch (error) {
    if (!isRelayError(error, 'bad_url')) throw error;
    const what = `${JSON.stringify(printable(word).slice(0, 80))} is not the id or URL of a task.`;
    throw badUsage(what, 'List the tasks with: relay task list');
  }
}

const list = answerCommand({
  details:
    'Without --channel it lists tasks on agent-tasks and on all channels that bridges have used lately.',
  flags: {
    channel: { short: 'c', value: 'NAME', help: 'only tasks on this channel' },
    state: { value: 'STATE', help: 'only queued, running, acked, done, failed or canceled tasks' },
    limit: { short: 'n', value: 'N', help: 'show at most N tasks (20)' },
  },
  examples: `
    relay task list  # list tasks
    relay task list --state running  # list running tasks`,
  async ask({ flags, open }) {
    const limit = parseCount(flags.limit, '--limit', { min: 1, max: TASKS_LISTED }) ?? 20;
    const state = oneOf('--state', flags.state, TASK_STATES);
    return (await open()).relay.tasks.list({ channel: flags.channel, state, limit });
  },
  print: ({ tasks }, io) => tasks.map((task) => taskLine(io, task)).join('\n') || 'no tasks',
});

const show = defineCommand({
  usage: '<id|url>',
  examples: 'relay task show <id>  # show state, receipts and result',
  async run({ io, args, open }) {
    const id = await taskArgument(io, args[0]!);
    const task = await (await open()).relay.tasks.get(id);
    const answer = task.result && !io.json ? await resultOf(await openBridge(open), id) : null;
    io.result(task, () => {
      const ladder = task.receipts.map(
        ({ rung, by, at }) => `  ${rung.padEnd(9)} ${printable(by)}, ${moment(at)}`,
      );
      const parts = [taskFacts(io, task)];
      if (ladder.length > 0) parts.push(`${io.style.dim('receipts')}\n${ladder.join('\n')}`);
      if (answer !== null) parts.push(`${io.style.dim('result text')}\n${printable(answer)}`);
      return parts.join('\n\n');
    });
  },
});

/** Returns the text of the result, or why it cannot be read: the rest of the task is shown in any case. */
async function resultOf(bridge: AgentBridge, id: string): Promise<string> {
  try {
    return (await bridge.wait(id)).text;
  } catch (error) {
    if (isRelayError(error) && error.status < 500) return `${error.message} ${error.hint}`;
    throw error;
  }
}

const done = settlementCommand('done');

/** Defines `relay task done` or `relay task fail`. */
function settlementCommand(status: 'done' | 'failed'): Command {
  const word = status === 'done' ? 'done' : 'fail';
  const text = status === 'done' ? 'Tests pass; nothing is left' : 'The build does not start';
  return answerCommand({
    usage: '<id|url> [text|-]',
    details: `Sends the text to the sender of the task. Pass it as an argument, with --file, or on standard input (-). Sending
the same result again is fine; a different result is rejected. The summary is the first line, or --summary. With
--encrypt there is no automatic summary, and the sender needs the key of the channel for results (agent-done, unless the task
names another).`,
    takes: { min: 1, max: 2 },
    flags: {
      file: {
        short: 'f',
        value: 'FILE',
        help: `read the ${status === 'done' ? 'result' : 'reason'} from this file`,
      },
      summary: { short: 's', value: 'TEXT', help: 'one-line summary' },
      encrypt: {
        short: 'e',
        help: 'encrypt the result; the sender needs the key of the channel for results',
      },
    },
    examples: `
      relay task ${word} <id> "${text}"  # send a short text
      relay task ${word} <id> --file report.md --summary "see the report"  # send a file with a summary`,
    async ask({ io, args, flags, open }) {
      const id = await taskArgument(io, args[0]!);
      // Read standard input only for `-`. If an agent runs this command, standard input may never end.
      const data = await textOrFile(io, 'result', args[1], flags.file);
      const opened = await open();
      if (flags.encrypt) return submitEncrypted(io, opened, { id, status, data, summary: flags.summary });
      const result = await opened.relay.tasks[word](id, { data, summary: flags.summary });
      const sent = await (await opened.client()).inspect(id).catch(() => null);
      if (sent && isCiphertext(sent))
        io.warn('the task is encrypted but its result is not. Use --encrypt to encrypt it.');
      return result;
    },
    print: (result, io) => (io.interactive ? `${result.status}: ${result.url}` : result.url),
  });
}

/** Encrypts the result on this machine and then pushes it, so that the relay cannot read the result. */
async function submitEncrypted(
  io: Io,
  { relay, client: openClient }: OpenClient,
  { id, status, data, summary }: Settlement & { readonly id: string; readonly status: 'done' | 'failed' },
): Promise<TaskResult> {
  const { done_channel: doneChannel } = await relay.tasks.get(id);
  const about = summary === undefined ? {} : { summary };
  const client = await openClient();
  await warnOfEncryption(io, client, { metadata: about, channel: doneChannel });
  const text = data?.trim() ? data : (summary ?? status);
  const result = { id, status, doneChannel, encrypted: true, about };
  const url = await pushResult(client, text, result).catch((error) => {
    if (!isRelayError(error, 'idempotency_conflict')) throw error;
    const hint = `Read it with: relay task show ${id}`;
    throw new RelayError('conflict', { what: 'This task already has a result.', hint });
  });
  return { ...(await relay.tasks.get(id)).result!, url };
}

const fail = settlementCommand('failed');

const cancel = answerCommand({
  usage: '<id|url> [reason]',
  details: `A queued task is not started. The bridge of a running task stops the work: it ends the command with its child processes,
cancels the task at an A2A or ACP agent, or interrupts a supported agent in a terminal. Anyone who waits for the result gets
the reason. If the task already has a result, the result stays and the exit code is 1.`,
  examples: `
    relay task cancel <id>  # cancel a task
    relay task cancel <id> "done by hand"  # cancel with a reason`,
  async ask({ io, args, open }) {
    const id = await taskArgument(io, args[0]!);
    return (await open()).relay.tasks.cancel(id, { reason: args[1] });
  },
  print: ({ summary }) => printable(summary ?? 'canceled'),
});

const wait = defineCommand({
  usage: '<id|url>',
  details:
    'Works for every task of this relay, no matter where it was sent from. The exit code is 1 if the task failed or was canceled, 5 if there is no result in time.',
  flags: { timeout: { value: 'TIME', help: 'maximum time, such as 90s, 15m, 2h (10m)' } },
  examples: 'relay task wait <id>  # wait for the result and print it',
  async run({ io, args, flags, open }) {
    const id = await taskArgument(io, args[0]!);
    const timeout = parseMilliseconds(flags.timeout, '--timeout') ?? TASK_TIMEOUT_MS;
    return printAnswer(io, await (await openBridge(open)).wait(id, { timeout }));
  },
});

export const commands = { list, show, done, fail, cancel, wait };
