import { RelayError } from '../../../base/errors.ts';
import { defineCommand } from '../command.ts';
import { plural } from '../human.ts';
import { removeEach } from '../remove-each.ts';
import { findArtifact, openThread, THREAD_FLAG } from '../threads/thread-choice.ts';

export default defineCommand({
  usage: '<ref…>',
  details: `For a secret that should never have been stored. The content, its preview and what a search finds of it are gone for
good; its hash and name stay, and an event says who deleted it. Reports and search results that quote it are artifacts of
their own, and backups and exports keep what they have. At a terminal it asks first.`,
  takes: { min: 1, max: 1000 },
  flags: { force: { short: 'f', help: 'do not ask' }, ...THREAD_FLAG },
  examples: [
    ['relay artifact rm 01914a2b3c4d5e6f7890abcdef', 'delete one'],
    ['relay artifact rm .env --thread 550e84', 'by its name, in another thread'],
  ],
  async run(call) {
    const { io, args, flags } = call;
    const { threads, id } = await openThread(call);
    // All are known before the first is gone.
    const refs = new Set<string>();
    for (const arg of args) refs.add(await findArtifact(threads, id, arg));
    if (!flags.force && io.stdin.isTTY && io.stderr.isTTY && !io.json) {
      const answer = await io.ask(`Delete ${plural(refs.size, 'artifact')} for good? [y/N] `);
      if (answer === null) throw new RelayError('aborted', { what: 'nobody answered', hint: 'Use --force.' });
      if (!/^y(es)?$/i.test(answer)) return;
    }
    return removeEach(io, 'deleted', [...refs], (ref) => threads.deleteArtifact(id, ref));
  },
});
