import { defineCommand } from '../command.ts';
import { agentLine } from './agents.ts';

export default defineCommand({
  examples: [['relay bridge list', 'which agents take tasks, from where']],
  async run({ io, host }) {
    await using open = await host.openClient();
    const { agents } = await open.relay.agents.list();
    const bridges = agents.filter(({ kind }) => kind === 'bridge');
    io.result({ bridges }, () =>
      bridges.length === 0 ? 'no bridges' : bridges.map((each) => agentLine(io, each)).join('\n'),
    );
  },
});
