import { resolve } from 'node:path';
import { EXIT } from '../../../base/errors.ts';
import { answerCommand } from '../command.ts';
import type { CopyReport } from '../host-store.ts';
import { bytes, count, plural, span } from '../human.ts';
import type { Io } from '../io.ts';
import { progressBar } from '../progress.ts';

/** A store is a home folder or the address of a cluster. */
export function storeArgument(io: Io, place: string): string {
  return /^(nats|tls):\/\//.test(place) ? place : resolve(io.cwd, place);
}

export default answerCommand({
  usage: '<from> <to>',
  details:
    'A store is a home folder or the address of a NATS cluster. The first one may be in use: it is copied in passes, and takes nothing new for some seconds only while the last changes are copied. Then everything has been compared, the first store can only be read and says where it went, and the second one is the store: start the servers on it. Messages keep their numbers, so clients go on where they were. Interrupted, it goes on when it is called again.',
  flags: { blobs: { value: 'URL', help: 'keep bodies above 1 MiB of the new store in this bucket' } },
  examples: [
    ['relay engine copy ~/.relay nats://a:4222,b:4222,c:4222', 'from one machine to a cluster'],
    ['relay engine copy nats://a:4222,b:4222,c:4222 ~/.relay-new', 'and back'],
    ['relay engine copy ~/.relay /mnt/relay', 'to another disk'],
  ],
  async ask({ io, host, args, flags }) {
    const [from, to] = args.map((place) => storeArgument(io, place)) as [string, string];
    const { report, end } = shown(io);
    try {
      const copied = await host.copyEngine(from, to, report, flags.blobs);
      for (const key of copied.lost) io.warn(`The body of ${key} is damaged, and was not copied.`);
      return copied;
    } finally {
      end();
    }
  },
  exit: ({ lost }) => (lost.length > 0 ? EXIT.failed : EXIT.ok),
  print: (copied) =>
    [
      `copied ${copied.from} to ${copied.to}: ${plural(copied.blobs, 'body', 'bodies')} with ${bytes(copied.bytes)}, ${plural(copied.records, 'record')}, ${count(copied.entries)} entries in ${plural(copied.logs, 'log')}`,
      `nobody could write for ${span(copied.frozen_ms)}; from now on the store is ${copied.to}`,
    ].join('\n'),
});

const LABELS = { copy: 'copying', check: 'comparing', switch: 'switching over' };

/** A bar for each step, where someone is looking. */
export function shown(io: Io): { report: CopyReport; end(): void } {
  let bar: ReturnType<typeof progressBar> | null = null;
  const end = () => {
    bar?.[Symbol.dispose]();
    bar = null;
  };
  const step: CopyReport['step'] = (name, items) => {
    end();
    bar = progressBar(io, LABELS[name], Math.max(items, 1), count);
  };
  return { report: { step, add: (items) => bar?.add(items) }, end };
}
