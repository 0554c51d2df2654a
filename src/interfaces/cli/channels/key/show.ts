import { RelayError } from '../../../../base/errors.ts';
import { defineCommand } from '../../command.ts';

export default defineCommand({
  usage: '<channel>',
  examples: [['relay channel key show reviews', 'for whoever shall read along']],
  async run({ io, host, args }) {
    const channel = args[0]!;
    const key = await (await host.keyring()).get(channel);
    if (key === undefined) {
      throw new RelayError('not_found', {
        what: `a key for ${channel}`,
        hint: 'Make one with: relay channel key new. Take one with: relay channel key add.',
      });
    }
    io.result({ channel, key }, key);
  },
});
