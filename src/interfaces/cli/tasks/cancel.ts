import { answerCommand } from '../command.ts';
import { printable } from '../human.ts';
import { taskArgument } from './task-words.ts';

export default answerCommand({
  usage: '<id|url> [reason]',
  details: `Nobody is given it any more, and the bridge that is at it stops the work, wherever it runs: the command and all that
it has started, the agent behind A2A or ACP, an agent in a terminal that the relay knows how to stop. Whoever waits for the result is told who called it
off. Where a result was first, that stays, and the exit code is 1.`,
  takes: { min: 1, max: 2 },
  examples: [
    ['relay task cancel <id>', 'stop it'],
    ['relay task cancel <id> "done by hand"', 'and say why'],
  ],
  async ask({ io, args, open }) {
    const id = await taskArgument(io, args[0]!);
    return (await open()).relay.tasks.cancel(id, { reason: args[1] });
  },
  print: ({ summary }) => printable(summary ?? 'canceled'),
});
