import { resolve } from 'node:path';
import { EXIT } from '../../../base/errors.ts';
import { answerCommand } from '../command.ts';

export default answerCommand({
  usage: '<dir>',
  details:
    'The copy is consistent, also while a server or other commands write. The folder must be new or empty. What is damaged is named and left out; it ends with 1 then.',
  examples: [
    ['relay backup ~/relay-backup', 'copy the local store there'],
    ['relay backup /mnt/relay-$(date +%F)', 'one a day'],
  ],
  async ask({ io, host, args }) {
    const backup = resolve(io.cwd, args[0]!);
    const { lost } = await host.backup(backup);
    for (const key of lost) io.warn(`The body of ${key} is damaged, and not in the backup.`);
    return { home: host.home, backup, ...(lost.length > 0 ? { lost } : {}) };
  },
  exit: ({ lost }) => (lost ? EXIT.failed : EXIT.ok),
  print: ({ home, backup }) => `backed up ${home} to ${backup}`,
});
