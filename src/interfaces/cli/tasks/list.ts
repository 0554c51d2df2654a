import { TASKS_LISTED } from '../../../base/limits.ts';
import { TASK_STATES } from '../../../contract/tasks.ts';
import { answerCommand } from '../command.ts';
import { oneOf, parseCount } from '../human.ts';
import { taskLine } from './task-words.ts';

export default answerCommand({
  details:
    'Those on agent-tasks and on every channel that a bridge has worked on lately, those for one agent alone among them, or on one channel.',
  flags: {
    channel: { short: 'c', value: 'NAME', help: 'only on this task channel' },
    state: { value: 'STATE', help: 'only queued, running, acked, done, failed or canceled ones' },
    limit: { short: 'n', value: 'N', help: 'so many (20)' },
  },
  examples: [
    ['relay task list', 'what there is to do, and what was done'],
    ['relay task list --state running', 'what agents are at'],
  ],
  async ask({ flags, open }) {
    const limit = parseCount(flags.limit, '--limit', { min: 1, max: TASKS_LISTED }) ?? 20;
    const state = oneOf('--state', flags.state, TASK_STATES);
    return (await open()).relay.tasks.list({ channel: flags.channel, state, limit });
  },
  print: ({ tasks }, io) => tasks.map((task) => taskLine(io, task)).join('\n') || 'no tasks',
});
