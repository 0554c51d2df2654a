import { defineCommand } from '../command.ts';

export default defineCommand({
  usage: '<channel> <group>',
  details:
    'The messages stay in the channel. A group that still has members at work is not forgotten: stop them first.',
  takes: { min: 2 },
  examples: [['relay channel forget-group tasks workers', 'the next worker begins with everything there is']],
  async run({ io, host, args }) {
    const [channel, group] = args as [string, string];
    await using open = await host.openClient();
    await open.relay.channels.removeGroup(channel, group);
    io.result({ channel, group }, `forgot ${group} of ${channel}`);
  },
});
