import { RelayError } from '../../../../base/errors.ts';
import { answerCommand } from '../../command.ts';

export default answerCommand({
  usage: '<channel>',
  examples: [['relay channel key show reviews', 'for whoever shall read along']],
  async ask({ host, args }) {
    const channel = args[0]!;
    const key = await (await host.keyring()).get(channel);
    if (key === undefined) {
      throw new RelayError('not_found', {
        what: `a key for ${channel}`,
        hint: 'Make one with: relay channel key new. Take one with: relay channel key add.',
      });
    }
    return { channel, key };
  },
  print: ({ key }) => key,
});
