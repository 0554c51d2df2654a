import { answerCommand } from '../command.ts';

export default answerCommand({
  usage: '<channel> <group>',
  details:
    'The messages stay in the channel. A group that still has members at work is not forgotten: stop them first.',
  examples: [['relay channel forget-group tasks workers', 'the next worker begins with everything there is']],
  async ask({ args, open }) {
    const [channel, group] = args as [string, string];
    await (await open()).relay.channels.removeGroup(channel, group);
    return { channel, group };
  },
  print: ({ channel, group }) => `forgot ${group} of ${channel}`,
});
