import { answerCommand } from '../command.ts';
import { labelled } from '../human.ts';
import { findThread, useThread } from './thread-choice.ts';

export default answerCommand({
  usage: '<id>',
  details: `Beginning a thread or changing one chooses it too; looking at one does not. RELAY_THREAD chooses one for a
shell or an agent alone, whatever others do meanwhile.`,
  examples: [
    ['relay thread use 550e84', 'the beginning of its id will do'],
    ['relay thread use my-first-run', 'or its name'],
  ],
  async ask({ host, args, open }) {
    const { threads } = (await open()).relay;
    const info = await threads.get(await findThread(threads, args[0]!));
    await useThread(host, info.thread_id);
    return info;
  },
  print: ({ thread_id }, io) => labelled(io, 'thread_id', thread_id),
});
