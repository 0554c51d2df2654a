import { defineCommand } from '../command.ts';
import { parseCount, printable } from '../human.ts';
import { plain } from '../threads/event-line.ts';
import { chooseThread, THREAD_FLAG } from '../threads/thread-choice.ts';

export default defineCommand({
  usage: '<words…>',
  details: 'Full text, ranked. Each is shown with the passage that fits best.',
  takes: { min: 1, max: 100 },
  flags: { count: { short: 'n', value: 'N', help: 'so many at most (10)' }, ...THREAD_FLAG },
  examples: [
    ['relay artifact search retry backoff', 'in the thread used last'],
    ['relay artifact search timeout --thread 550e84 --json', 'with scores'],
  ],
  async run({ io, host, args, flags }) {
    const limit = parseCount(flags.count ?? '10', '--count', { min: 1, max: 1000 });
    await using open = await host.openClient();
    const id = await chooseThread({ io, host }, open, flags.thread);
    const { hits } = await open.relay.threads.search(id, args.join(' '), { limit });
    io.result({ hits }, () => {
      if (hits.length === 0) return io.interactive ? io.style.dim('Nothing fits.') : '';
      const bold = (text: string) => text.replace(/\*\*(.+?)\*\*/g, (_, word: string) => io.style.bold(word));
      const shown = (text: string) =>
        (io.interactive ? bold(printable(text)) : text).replace(/\s+/g, ' ').trim();
      return hits
        .map(({ ref, name, snippet }) => `${io.style.cyan(ref)}  ${plain(name)}\n    ${shown(snippet)}`)
        .join('\n');
    });
  },
});
