import { answerCommand } from '../command.ts';
import { agentName } from './inbox.ts';

export default answerCommand({
  usage: '<channel>',
  details: `For agents and hooks that cannot keep a connection open: what comes is found later with relay inbox. Nothing needs to
run in between. Following a channel twice changes nothing.`,
  flags: {
    as: { value: 'NAME', help: 'the agent (RELAY_AGENT)' },
    since: { value: 'WHEN', help: 'begin behind a sequence number or at a time; all for everything' },
  },
  examples: [
    ['relay follow reviews --as claude', 'from now on'],
    ['relay follow reviews --as claude --since all', 'with everything there is'],
  ],
  async ask({ io, args, flags, open }) {
    const agent = agentName(io, flags.as, 'follow <channel>');
    return (await open()).relay.inbox.follow(agent, args[0]!, { since: flags.since });
  },
  print: ({ agent, channel }, io) =>
    `${agent} follows ${channel}; read with: ${io.typed(`relay inbox --as ${agent}`)}`,
});
