import { resolve } from 'node:path';
import { RelayError } from '../../../base/errors.ts';
import { answerCommand } from '../command.ts';

export default answerCommand({
  usage: '<dir>',
  details: 'The store that is there now is kept aside, not deleted, and is replaced only with --force.',
  flags: { force: { help: 'replace the store that is there' } },
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
    await host.restore(restored, { force: flags.force === true });
    return { home: host.home, restored };
  },
  print: ({ home, restored }) => `restored ${restored} into ${home}`,
});
