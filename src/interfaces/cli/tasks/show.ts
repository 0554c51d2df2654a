import { isRelayError } from '../../../base/errors.ts';
import { AgentBridge } from '../../../client/bridge/agent-bridge.ts';
import { defineCommand } from '../command.ts';
import { moment, printable } from '../human.ts';
import { taskArgument, taskFacts } from './task-words.ts';

export default defineCommand({
  usage: '<id|url>',
  takes: { min: 1, max: 1 },
  examples: [['relay task show <id>', 'where it stands, with the evidence for it']],
  async run({ io, args, open }) {
    const id = await taskArgument(io, args[0]!);
    const opened = await open();
    const { relay, resolve } = opened;
    const client = await opened.client();
    const task = await relay.tasks.get(id);
    const answer = task.result && !io.json ? await resultOf(new AgentBridge(client, { resolve }), id) : null;
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
