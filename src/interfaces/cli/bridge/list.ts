import { answerCommand } from '../command.ts';
import { agentLine } from './agents.ts';

export default answerCommand({
  examples: [['relay bridge list', 'which agents take tasks, from where']],
  async ask({ open }) {
    const { agents } = await (await open()).relay.agents.list();
    return { bridges: agents.filter(({ kind }) => kind === 'bridge') };
  },
  print: ({ bridges }, io) => bridges.map((each) => agentLine(io, each)).join('\n') || 'no bridges',
});
