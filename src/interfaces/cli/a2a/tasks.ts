import { defineCommand } from '../command.ts';
import { rows } from '../human.ts';
import { AGENT_FLAGS, outcomeText } from './outcome.ts';

export default defineCommand({
  usage: '<url> [task]',
  flags: {
    ...AGENT_FLAGS,
    context: { value: 'ID', help: 'only those of this context' },
    cancel: { help: 'cancel the task that is named' },
  },
  takes: { min: 1, max: 2 },
  examples: [
    ['relay a2a tasks https://agents.example', 'all of them, newest first'],
    ['relay a2a tasks <url> <task>', 'one, with its result'],
    ['relay a2a tasks <url> <task> --cancel', 'call it off'],
  ],
  async run({ io, host, args, flags }) {
    const agent = await host.openAgent(args[0]!, flags);
    const id = args[1];
    if (id !== undefined) {
      const outcome = flags.cancel ? await agent.cancel(id) : await agent.find(id);
      io.result(outcome, () => [outcome.state, outcomeText(outcome, io)].filter(Boolean).join('\n'));
      return;
    }
    const tasks = await agent.list({ contextId: flags.context });
    io.result({ tasks }, () => {
      const lines = tasks.map(
        ({ task_id, state, context_id }) => [task_id ?? '', `${state}  ${context_id}`] as const,
      );
      return rows(io.style.dim, lines) || 'no tasks';
    });
  },
});
