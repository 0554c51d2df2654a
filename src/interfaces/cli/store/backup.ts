import { resolve } from 'node:path';
import { defineCommand } from '../command.ts';

export default defineCommand({
  usage: '<dir>',
  details:
    'The copy is consistent, also while a server or other commands write. The folder must be new or empty.',
  examples: [
    ['relay backup ~/relay-backup', 'copy the local store there'],
    ['relay backup /mnt/relay-$(date +%F)', 'one a day'],
  ],
  async run({ io, host, args }) {
    const target = resolve(io.cwd, args[0]!);
    await host.backup(target);
    io.result({ home: host.home, backup: target }, `backed up ${host.home} to ${target}`);
  },
});
