import { EXIT } from '../../../base/errors.ts';
import { defineCommand } from '../command.ts';
import { writePayload } from '../pointers/payload.ts';
import { openThread, THREAD_FLAG } from './thread-choice.ts';

export default defineCommand({
  usage: '[<id>]',
  details: `A ZIP bundle of its state, artifacts and events with the hash of each. relay import gives the same thread
again, on any machine. Piped, the bundle goes to standard output. Contents that are missing or are not as they were
stored are named and left out; everything else is in it, and the command ends with 1.`,
  flags: { out: { short: 'o', value: 'FILE', help: 'where to (thread-<id>.zip here)' }, ...THREAD_FLAG },
  examples: [
    ['relay export --thread 550e84 --out bundle.zip', 'into a file'],
    ['relay export 550e84 | ssh elsewhere relay import -', 'straight to another machine'],
  ],
  async run(call) {
    const { io, args, flags } = call;
    const { threads, id } = await openThread(call, { word: args[0] });
    const { body, name, damaged } = await threads.export(id);
    const out = flags.out ?? (io.interactive || io.json ? name : undefined);
    await writePayload(io, body, { out, about: damaged.length > 0 ? { damaged } : {} });
    for (const ref of damaged) {
      io.warn(`The content of artifact ${ref} is missing or not as it was stored; it is not in the bundle.`);
    }
    return damaged.length > 0 ? EXIT.failed : EXIT.ok;
  },
});
