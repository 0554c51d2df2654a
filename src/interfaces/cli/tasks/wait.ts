import { TASK_TIMEOUT_MS } from '../../../base/limits.ts';
import { AgentBridge } from '../../../client/bridge/agent-bridge.ts';
import { defineCommand } from '../command.ts';
import { parseMilliseconds } from '../human.ts';
import { taskArgument, tellAnswer } from './task-words.ts';

export default defineCommand({
  usage: '<id|url>',
  details:
    'For a task that was sent before, here or elsewhere. The exit code is 1 where it failed, 5 where no result came.',
  takes: { min: 1, max: 1 },
  flags: { timeout: { value: 'TIME', help: 'wait so long: 90s, 15m, 2h (10m)' } },
  examples: [['relay task wait <id>', 'the result, as soon as it is there']],
  async run({ io, args, flags, open }) {
    const id = await taskArgument(io, args[0]!);
    const timeout = parseMilliseconds(flags.timeout, '--timeout') ?? TASK_TIMEOUT_MS;
    const opened = await open();
    const { resolve } = opened;
    const client = await opened.client();
    const bridge = new AgentBridge(client, { resolve });
    return tellAnswer(io, await bridge.wait(id, { timeout }));
  },
});
