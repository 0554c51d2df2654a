import { answerCommand } from '../command.ts';
import { agentName } from './inbox.ts';

export default answerCommand({
  usage: '<channel>',
  flags: { as: { value: 'NAME', help: 'the agent (RELAY_AGENT)' } },
  examples: [['relay unfollow reviews --as claude', 'what it had not read there is no longer shown']],
  async ask({ io, args, flags, open }) {
    const agent = agentName(io, flags.as, 'unfollow <channel>');
    const channel = args[0]!;
    await (await open()).relay.inbox.unfollow(agent, channel);
    return { agent, channel };
  },
  print: ({ agent, channel }) => `${agent} no longer follows ${channel}`,
});
