import { resolve } from 'node:path';
import { answerCommand } from '../command.ts';

export default answerCommand({
  usage: '<dir>',
  details:
    'The copy is consistent, also while a server or other commands write. The folder must be new or empty.',
  examples: [
    ['relay backup ~/relay-backup', 'copy the local store there'],
    ['relay backup /mnt/relay-$(date +%F)', 'one a day'],
  ],
  async ask({ io, host, args }) {
    const backup = resolve(io.cwd, args[0]!);
    await host.backup(backup);
    return { home: host.home, backup };
  },
  print: ({ home, backup }) => `backed up ${home} to ${backup}`,
});
