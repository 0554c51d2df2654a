import { defineCommand } from '../command.ts';
import { writePayload } from '../pointers/payload.ts';
import { openThread, THREAD_FLAG } from './thread-choice.ts';

export default defineCommand({
  usage: '[<id>]',
  details: `A ZIP bundle of its state, artifacts and events with the hash of each. relay import gives the same thread
again, on any machine. Piped, the bundle goes to standard output.`,
  flags: { out: { short: 'o', value: 'FILE', help: 'where to (thread-<id>.zip here)' }, ...THREAD_FLAG },
  examples: [
    ['relay export --thread 550e84 --out bundle.zip', 'into a file'],
    ['relay export 550e84 | ssh elsewhere relay import -', 'straight to another machine'],
  ],
  async run(call) {
    const { io, args, flags } = call;
    const { threads, id } = await openThread(call, { word: args[0] });
    const { body, name } = await threads.export(id);
    await writePayload(io, body, { out: flags.out ?? (io.interactive || io.json ? name : undefined) });
  },
});
