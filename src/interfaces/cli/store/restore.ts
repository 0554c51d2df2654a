import { resolve } from 'node:path';
import { EXIT, RelayError } from '../../../base/errors.ts';
import { answerCommand } from '../command.ts';

export default answerCommand({
  usage: '<dir>',
  details:
    'The store that is there now is kept aside, not deleted, and is replaced only with --force. A store of a NATS cluster, or one that gets a bucket, must be empty.',
  flags: {
    engine: { value: 'URL', help: 'restore into this NATS cluster (RELAY_ENGINE)' },
    blobs: { value: 'URL', help: 'keep bodies above 1 MiB in this bucket (into a cluster also RELAY_BLOBS)' },
    force: { help: 'replace the store that is there' },
    partial: { help: 'also a backup with damaged bodies, without these; it ends with 1 then' },
  },
  examples: [
    ['relay restore ~/relay-backup', 'into an empty home'],
    ['relay restore ~/relay-backup --force', 'in place of what is there'],
    ['relay restore ~/relay-backup --home /tmp/look', 'somewhere else, to look into it'],
    ['relay restore /mnt/relay --engine nats://a:4222,b:4222,c:4222', 'into an empty cluster'],
  ],
  async ask({ io, host, args, flags }) {
    const cluster = flags.engine ?? host.engine;
    const running = cluster === null ? host.server.running() : null;
    if (running !== null) {
      throw new RelayError('failed', {
        what: `A relay serves this home: ${running.url} (pid ${running.pid}).`,
        hint: 'Stop it first with: relay down',
      });
    }
    const restored = resolve(io.cwd, args[0]!);
    const { engine, blobs } = flags;
    const o = { force: flags.force === true, partial: flags.partial === true, engine, blobs };
    const { lost } = await host.restore(restored, o);
    for (const key of lost) io.warn(`The body of ${key} is damaged in the backup, and was left out.`);
    return {
      home: cluster === null ? host.home : 'the cluster',
      restored,
      ...(lost.length > 0 ? { lost } : {}),
    };
  },
  exit: ({ lost }) => (lost ? EXIT.failed : EXIT.ok),
  print: ({ home, restored }) => `restored ${restored} into ${home}`,
});
