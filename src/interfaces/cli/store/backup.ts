import { resolve } from 'node:path';
import { EXIT } from '../../../base/errors.ts';
import { answerCommand } from '../command.ts';

export default answerCommand({
  usage: '<dir>',
  details:
    'The copy is consistent, also while a server or other commands write. The folder must be new or empty. What is damaged is named and left out; it ends with 1 then. Of a NATS cluster, each thread and each channel is as it was at one moment; the copy is a home folder like any other.',
  flags: { engine: { value: 'URL', help: 'back up this NATS cluster (RELAY_ENGINE)' } },
  examples: [
    ['relay backup ~/relay-backup', 'copy the local store there'],
    ['relay backup /mnt/relay-$(date +%F)', 'one a day'],
    ['relay backup --engine nats://a:4222,b:4222,c:4222 /mnt/relay', 'of a cluster'],
  ],
  async ask({ io, host, args, flags }) {
    const backup = resolve(io.cwd, args[0]!);
    const { lost } = await host.backup(backup, flags.engine);
    for (const key of lost) io.warn(`The body of ${key} is damaged, and not in the backup.`);
    return {
      home: (flags.engine ?? host.engine) === null ? host.home : 'the cluster',
      backup,
      ...(lost.length > 0 ? { lost } : {}),
    };
  },
  exit: ({ lost }) => (lost ? EXIT.failed : EXIT.ok),
  print: ({ home, backup }) => `backed up ${home} to ${backup}`,
});
