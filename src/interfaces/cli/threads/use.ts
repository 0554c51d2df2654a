import { defineCommand } from '../command.ts';
import { findThread, useThread } from './thread-choice.ts';

export default defineCommand({
  usage: '<id>',
  details: `Beginning a thread or changing one chooses it too; looking at one does not. RELAY_THREAD chooses one for a
shell or an agent alone, whatever others do meanwhile.`,
  takes: { min: 1 },
  examples: [
    ['relay thread use 550e84', 'the beginning of its id will do'],
    ['relay thread use my-first-run', 'or its name'],
  ],
  async run({ io, host, args }) {
    await using open = await host.openClient();
    const id = await findThread(open.relay.threads, args[0]!);
    const info = await open.relay.threads.get(id);
    await useThread(host, id);
    io.result(info, () => (io.interactive ? `${io.style.dim('thread_id')}  ${id}` : id));
  },
});
