import { RelayError } from '../../../base/errors.ts';
import { defineCommand } from '../command.ts';
import { chooseThread, THREAD_FLAG, threadWord } from './thread-choice.ts';
import { tokenRows } from './token-rows.ts';

export default defineCommand({
  usage: '[<id>]',
  details: `Naive is what pasting every artifact once would have cost. Actual is what went out instead: headers,
previews, and every content that was pulled later. What was avoided is the difference, and it may be negative. All of
it is counted by a tokenizer, whose name is given; nothing is guessed from lengths.`,
  takes: { max: 1 },
  flags: { all: { type: 'boolean', help: 'all threads together' }, ...THREAD_FLAG },
  examples: [
    ['relay stats', 'of the thread used last'],
    ['relay stats 550e84 --json', 'with what the figures are made of'],
    ['relay stats --all', 'of all threads together'],
  ],
  async run(call) {
    const { io, host, args, flags } = call;
    const word = threadWord('stats', args[0], flags.thread);
    if (flags.all && word !== undefined) {
      throw new RelayError('bad_usage', {
        what: '--all is about all threads, not about one.',
        hint: `Use: relay stats ${word}, or: relay stats --all`,
      });
    }
    await using open = await host.openClient();
    const { threads } = open.relay;
    const stats = flags.all
      ? await threads.totals()
      : await threads.stats(await chooseThread(call, open, word));
    io.result(stats, () => tokenRows(stats, io.style));
  },
});
