import { EXIT } from '../../../base/errors.ts';
import { TASK_TIMEOUT_MS } from '../../../base/limits.ts';
import { type Handoff, isOverdue } from '../../../client/projects/handoffs.ts';
import { plainLine } from '../../../client/projects/plain-line.ts';
import { parseMilliseconds } from '../human.ts';
import { projectCommand } from './project-call.ts';

type Told = Handoff & { readonly overdue: boolean };

export default projectCommand({
  usage: '[id]',
  details: `Without an id, the newest hand-off. The exit code is 0 where it is done, 1 where it failed and 5 while it is open, also when its
deadline has passed.`,
  flags: {
    all: { help: 'list every hand-off' },
    wait: { help: 'wait for the result, until the deadline of the hand-off at most' },
    timeout: { value: 'TIME', help: 'with --wait: so long at most: 90s, 15m, 2h (10m)' },
  },
  examples: [
    ['relay project result HANDOFF-002', 'the result of one'],
    ['relay project result HANDOFF-002 --wait', 'as soon as it is there'],
    ['relay project result --all', 'where all of them stand'],
  ],
  async ask(project, { args, flags }): Promise<{ handoffs: readonly Told[] } | Told> {
    const told = (handoff: Handoff) => ({ ...handoff, overdue: isOverdue(handoff, Date.now()) });
    if (flags.all) return { handoffs: (await project.read()).handoffs.map(told) };
    const wait = parseMilliseconds(flags.timeout, '--timeout') ?? TASK_TIMEOUT_MS;
    return told(await project.result(args[0] ?? null, flags.wait ? Date.now() + wait : 0));
  },
  print(answer) {
    if (!('handoffs' in answer)) return inWords(answer);
    const lines = answer.handoffs.map(
      ({ id, status, overdue, task }) =>
        `${id}  ${(overdue ? 'overdue' : status).padEnd(7)}  ${plainLine(task, 80)}`,
    );
    return lines.join('\n') || 'No hand-offs.';
  },
  exit: (answer) => ('handoffs' in answer ? EXIT.ok : EXITS[answer.status]),
});

const EXITS = { done: EXIT.ok, failed: EXIT.failed, open: EXIT.unreachable };

function inWords({ id, status, overdue, deadline, task, result, artifacts }: Told): string {
  if (overdue) return `${id} is overdue, its deadline was ${deadline}: ${plainLine(task)}`;
  if (status === 'open') return `${id} is still open: ${plainLine(task)}`;
  return [
    `${id} ${status}: ${plainLine(task)}`,
    '',
    result ?? '',
    ...artifacts.map((item) => `- ${item}`),
  ].join('\n');
}
