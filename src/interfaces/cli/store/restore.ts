import { resolve } from 'node:path';
import { EXIT, RelayError } from '../../../base/errors.ts';
import { answerCommand } from '../command.ts';

export default answerCommand({
  usage: '<dir>',
  details: 'The store that is there now is kept aside, not deleted, and is replaced only with --force.',
  flags: {
    force: { help: 'replace the store that is there' },
    partial: { help: 'also a backup with damaged bodies, without these; it ends with 1 then' },
  },
  examples: [
    ['relay restore ~/relay-backup', 'into an empty home'],
    ['relay restore ~/relay-backup --force', 'in place of what is there'],
    ['relay restore ~/relay-backup --home /tmp/look', 'somewhere else, to look into it'],
  ],
  async ask({ io, host, args, flags }) {
    const running = host.server.running();
    if (running !== null) {
      throw new RelayError('failed', {
        what: `A relay serves this home: ${running.url} (pid ${running.pid}).`,
        hint: 'Stop it first with: relay down',
      });
    }
    const restored = resolve(io.cwd, args[0]!);
    const o = { force: flags.force === true, partial: flags.partial === true };
    const { lost } = await host.restore(restored, o);
    for (const key of lost) io.warn(`The body of ${key} is damaged in the backup, and was left out.`);
    return { home: host.home, restored, ...(lost.length > 0 ? { lost } : {}) };
  },
  exit: ({ lost }) => (lost ? EXIT.failed : EXIT.ok),
  print: ({ home, restored }) => `restored ${restored} into ${home}`,
});
