import type { Handoff } from '../../../client/projects/handoffs.ts';
import { plainLine } from '../../../client/projects/plain-line.ts';
import { projectCommand } from './project-call.ts';

export default projectCommand({
  usage: '[id]',
  details: 'Without an id, the newest hand-off. Ends with 1 while it is open or when it failed.',
  flags: { all: { help: 'list every hand-off' } },
  examples: [
    ['relay project result HANDOFF-002', 'the result of one'],
    ['relay project result --all', 'where all of them stand'],
  ],
  async ask(project, { args, flags }): Promise<{ handoffs: readonly Handoff[] } | Handoff> {
    return flags.all ? { handoffs: (await project.read()).handoffs } : project.result(args[0] ?? null);
  },
  print(answer) {
    if (!('handoffs' in answer)) return inWords(answer);
    const lines = answer.handoffs.map(
      ({ id, status, task }) => `${id}  ${status.padEnd(6)}  ${plainLine(task, 80)}`,
    );
    return lines.join('\n') || 'No hand-offs.';
  },
  exit: (answer) => ('handoffs' in answer || answer.status === 'done' ? 0 : 1),
});

function inWords({ id, status, task, result, artifacts }: Handoff): string {
  if (status === 'open') return `${id} is still open: ${plainLine(task)}`;
  return [
    `${id} ${status}: ${plainLine(task)}`,
    '',
    result ?? '',
    ...artifacts.map((item) => `- ${item}`),
  ].join('\n');
}
