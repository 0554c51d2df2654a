import { TASK_SUMMARY_CHARS } from '../../../base/limits.ts';
import type { TaskAnswer } from '../../../client/bridge/options.ts';
import { firstLine } from '../../../client/bridge/outcome.ts';
import { parsePointer } from '../../../contract/pointer-url.ts';
import type { TaskInfo } from '../../../contract/tasks.ts';
import { moment, printable, rows, span } from '../human.ts';
import type { Io } from '../io.ts';
import { pointerArgument } from '../pointers/pointer-argument.ts';

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

export function taskFacts(io: Io, task: TaskInfo): string {
  const facts: [string, string][] = [
    ['state', task.state + (task.attempt > 1 ? `, attempt ${task.attempt}` : '')],
    ['from', `${printable(task.from)}, ${moment(task.created_at)}`],
    ['channel', `${printable(task.channel)} → ${printable(task.done_channel)}`],
    ['task', task.url],
  ];
  if (task.summary) facts.splice(1, 0, ['about', printable(task.summary)]);
  if (task.stuck) facts.splice(1, 0, ['stuck', printable(task.stuck)]);
  if (task.agent) facts.push(['agent', printable(task.agent)]);
  if (task.lease) {
    const { member, lease_until } = task.lease;
    facts.push(['lease', `${printable(member)}, ${moment(lease_until)}`]);
  }
  if (task.result) {
    const { summary, by, at, url } = task.result;
    facts.push(['result', `${printable(summary ?? 'no summary')} (${printable(by)}, ${moment(at)})`]);
    facts.push(['', url]);
  }
  return rows(io.style.dim, facts);
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

/** A task is named by its id or by its pointer; `-` for one that is piped in. */
export async function taskArgument(io: Io, word: string): Promise<string> {
  return parsePointer(await pointerArgument(io, word)).id;
}
