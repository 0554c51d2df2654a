import { isRelayError, RelayError } from '../../../base/errors.ts';
import { TASK_SUMMARY_CHARS, TASK_TIMEOUT_MS, TASKS_LISTED } from '../../../base/limits.ts';
import { AgentBridge } from '../../../client/bridge/agent-bridge.ts';
import type { TaskAnswer } from '../../../client/bridge/options.ts';
import { firstLine } from '../../../client/bridge/outcome.ts';
import { pushResult } from '../../../client/bridge/task-run.ts';
import { parsePointer } from '../../../contract/pointer-url.ts';
import { type Settlement, TASK_STATES, type TaskInfo, type TaskResult } from '../../../contract/tasks.ts';
import { isCiphertext } from '../../../sdk/encryption.ts';
import { answerCommand, type Command, defineCommand, type Invocation } from '../command.ts';
import type { OpenClient } from '../host.ts';
import { moment, oneOf, parseCount, parseMilliseconds, printable, rows, span } from '../human.ts';
import type { Io } from '../io.ts';
import { pointerArgument, textOrFile, warnOfEncryption } from './payload.ts';

/** A task in one line, for lists. */
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
  const told = (text: string | null | undefined) => (text ? printable(text) : null);
  return rows(io.style.dim, [
    ['state', task.state + (task.attempt > 1 ? `, attempt ${task.attempt}` : '')],
    ['stuck', told(task.stuck)],
    ['about', told(task.summary)],
    ['from', `${printable(task.from)}, ${moment(task.created_at)}`],
    ['channel', `${printable(task.channel)} → ${printable(task.done_channel)}`],
    ['task', task.url],
    ['agent', told(task.agent)],
    ['lease', lease && `${printable(lease.member)}, ${moment(lease.lease_until)}`],
    [
      'result',
      result &&
        `${printable(result.summary ?? 'no summary')} (${printable(result.by)}, ${moment(result.at)})`,
    ],
    ['', result?.url ?? null],
  ]);
}

/** The answer as it came; a failed one is told on stderr too. The exit code. */
export function tellAnswer(io: Io, answer: TaskAnswer): number {
  io.result(answer, answer.text);
  if (answer.status === 'done') return 0;
  const why = answer.summary ?? firstLine(answer.text, TASK_SUMMARY_CHARS);
  const how = answer.status === 'canceled' ? 'was canceled' : 'failed';
  if (!io.json) io.warn(`the task ${how}: ${printable(why)}`);
  return 1;
}

/** The client's side of a bridge: it sends tasks and waits for their results. */
async function openBridge(open: Invocation['open']): Promise<AgentBridge> {
  const opened = await open();
  return new AgentBridge(await opened.client(), { resolve: opened.resolve });
}

/** A task is named by its id or by its pointer; `-` for one that is piped in. */
async function taskArgument(io: Io, word: string): Promise<string> {
  return parsePointer(await pointerArgument(io, word)).id;
}

const list = answerCommand({
  details:
    'Those on agent-tasks and on every channel that a bridge has worked on lately, those for one agent alone among them, or on one channel.',
  flags: {
    channel: { short: 'c', value: 'NAME', help: 'only on this task channel' },
    state: { value: 'STATE', help: 'only queued, running, acked, done, failed or canceled ones' },
    limit: { short: 'n', value: 'N', help: 'so many (20)' },
  },
  examples: `
    relay task list  # what there is to do, and what was done
    relay task list --state running  # what agents are at`,
  async ask({ flags, open }) {
    const limit = parseCount(flags.limit, '--limit', { min: 1, max: TASKS_LISTED }) ?? 20;
    const state = oneOf('--state', flags.state, TASK_STATES);
    return (await open()).relay.tasks.list({ channel: flags.channel, state, limit });
  },
  print: ({ tasks }, io) => tasks.map((task) => taskLine(io, task)).join('\n') || 'no tasks',
});

const show = defineCommand({
  usage: '<id|url>',
  examples: 'relay task show <id>  # where it stands, with the evidence for it',
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
      if (answer !== null) parts.push(`${io.style.dim('what came back')}\n${printable(answer)}`);
      return parts.join('\n\n');
    });
  },
});

/** What came back, or why it cannot be shown: where the task stands is worth knowing all the same. */
async function resultOf(bridge: AgentBridge, id: string): Promise<string> {
  try {
    return (await bridge.wait(id)).text;
  } catch (error) {
    if (isRelayError(error) && error.status < 500) return `${error.message} ${error.hint}`;
    throw error;
  }
}

const done = settlementCommand('done');

/** `relay task done` and `relay task fail` differ in one word. */
function settlementCommand(status: 'done' | 'failed'): Command {
  const word = status === 'done' ? 'done' : 'fail';
  const text = status === 'done' ? 'Tests pass; nothing is left' : 'The build does not start';
  return answerCommand({
    usage: '<id|url> [text|-]',
    details: `The text is what the sender gets; - reads it from standard input, --file from a file. It is brought once:
the same again is fine, another result is refused. The first line is the summary unless --summary says another.
With --encrypt there is no summary, and the sender needs the key of the done channel.`,
    takes: { min: 1, max: 2 },
    flags: {
      file: { short: 'f', value: 'FILE', help: 'the result is in this file' },
      summary: { short: 's', value: 'TEXT', help: 'one line for lists' },
      encrypt: { short: 'e', help: 'encrypt it; the sender needs the done channel’s key' },
    },
    examples: `
      relay task ${word} <id> "${text}"  # the result in words
      relay task ${word} <id> --file report.md --summary "see the report"  # a long one`,
    async ask({ io, args, flags, open }) {
      const id = await taskArgument(io, args[0]!);
      // Standard input only where it was asked for: an agent's shell may hold it open for ever.
      const data = await textOrFile(io, 'result', args[1], flags.file);
      const opened = await open();
      if (flags.encrypt) return bringEncrypted(io, opened, { id, status, data, summary: flags.summary });
      const result = await opened.relay.tasks[word](id, { data, summary: flags.summary });
      const sent = await (await opened.client()).inspect(id).catch(() => null);
      if (sent && isCiphertext(sent))
        io.warn('the task is encrypted and its result is not: --encrypt hides it.');
      return result;
    },
    print: (result, io) => (io.interactive ? `${result.status}: ${result.url}` : result.url),
  });
}

/** Encrypted here and brought as a push: the relay, which settles tasks otherwise, must not see it. */
async function bringEncrypted(
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
    const hint = `Read it: relay task show ${id}`;
    throw new RelayError('conflict', { what: 'This task already has a result.', hint });
  });
  return { ...(await relay.tasks.get(id)).result!, url };
}

const fail = settlementCommand('failed');

const cancel = answerCommand({
  usage: '<id|url> [reason]',
  details: `Nobody is given it any more, and the bridge that is at it stops the work, wherever it runs: the command and all that
it has started, the agent behind A2A or ACP, an agent in a terminal that the relay knows how to stop. Whoever waits for the result is told who called it
off. Where a result was first, that stays, and the exit code is 1.`,
  examples: `
    relay task cancel <id>  # stop it
    relay task cancel <id> "done by hand"  # and say why`,
  async ask({ io, args, open }) {
    const id = await taskArgument(io, args[0]!);
    return (await open()).relay.tasks.cancel(id, { reason: args[1] });
  },
  print: ({ summary }) => printable(summary ?? 'canceled'),
});

const wait = defineCommand({
  usage: '<id|url>',
  details:
    'For a task that was sent before, here or elsewhere. The exit code is 1 where it failed, 5 where no result came.',
  flags: { timeout: { value: 'TIME', help: 'wait so long: 90s, 15m, 2h (10m)' } },
  examples: 'relay task wait <id>  # the result, as soon as it is there',
  async run({ io, args, flags, open }) {
    const id = await taskArgument(io, args[0]!);
    const timeout = parseMilliseconds(flags.timeout, '--timeout') ?? TASK_TIMEOUT_MS;
    return tellAnswer(io, await (await openBridge(open)).wait(id, { timeout }));
  },
});

export const commands = { list, show, done, fail, cancel, wait };
