import { defineCommand } from '../command.ts';
import { agentLine } from './agent-words.ts';

export default defineCommand({
  examples: [['relay agents', 'who can be given work, and who reads what']],
  async run({ io, host }) {
    await using open = await host.openClient();
    const { agents } = await open.relay.agents.list();
    io.result({ agents }, () =>
      agents.length === 0
        ? 'nobody; start one with: relay bridge start --exec "claude -p"'
        : agents.map((agent) => agentLine(io, agent)).join('\n'),
    );
  },
});
