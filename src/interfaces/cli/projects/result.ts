import type { Handoff } from '../../../client/projects/handoffs.ts';
import { plainLine } from '../../../client/projects/plain-line.ts';
import { defineCommand } from '../command.ts';
import { PROJECT_FLAGS, theProject } from './project-call.ts';

export default defineCommand({
  usage: '[id]',
  details: 'Without an id, the newest hand-off. Ends with 1 while it is open or when it failed.',
  flags: { all: { help: 'list every hand-off' }, ...PROJECT_FLAGS },
  examples: [
    ['relay project result HANDOFF-002', 'the result of one'],
    ['relay project result --all', 'where all of them stand'],
  ],
  async run({ io, host, args, flags }) {
    const project = await theProject({ io, host, flags });
    if (flags.all) {
      const { handoffs } = await project.read();
      io.result({ handoffs }, () =>
        handoffs.length === 0
          ? 'No hand-offs.'
          : handoffs
              .map(({ id, status, task }) => `${id}  ${status.padEnd(6)}  ${plainLine(task, 80)}`)
              .join('\n'),
      );
      return 0;
    }
    const handoff = await project.result(args[0] ?? null);
    io.result(handoff, () => inWords(handoff));
    return handoff.status === 'done' ? 0 : 1;
  },
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
