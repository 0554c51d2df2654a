import { RelayError } from '../../../../base/errors.ts';
import { answerCommand } from '../../command.ts';

export default answerCommand({
  usage: '<channel>',
  details: 'What was sealed to it can no longer be read from here.',
  examples: [['relay channel key rm reviews', 'on this machine only']],
  async ask({ host, args }) {
    const channel = args[0]!;
    if (!(await (await host.keyring()).remove(channel))) {
      throw new RelayError('not_found', {
        what: `a key for ${channel}`,
        hint: 'See: relay channel key list',
      });
    }
    return { channel };
  },
  print: ({ channel }) => `removed the key of ${channel}`,
});
