import { defineCommand } from '../command.ts';
import { agentName } from './inbox.ts';

export default defineCommand({
  usage: '<channel>',
  takes: { min: 1 },
  flags: { as: { value: 'NAME', help: 'the agent (RELAY_AGENT)' } },
  examples: [['relay unfollow reviews --as claude', 'what it had not read there is no longer shown']],
  async run({ io, host, args, flags }) {
    const agent = agentName(io, flags.as, 'unfollow <channel>');
    await using open = await host.openClient();
    await open.relay.inbox.unfollow(agent, args[0]!);
    io.result({ agent, channel: args[0] }, `${agent} no longer follows ${args[0]}`);
  },
});
