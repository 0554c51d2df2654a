import { answerCommand } from '../command.ts';
import { parseCount, printable } from '../human.ts';
import { plain } from '../threads/event-line.ts';
import { openThread, THREAD_FLAG } from '../threads/thread-choice.ts';

export default answerCommand({
  usage: '<words…>',
  details: 'Full text, ranked. Each is shown with the passage that fits best.',
  takes: { min: 1, max: 100 },
  flags: { count: { short: 'n', value: 'N', help: 'so many at most (10)' }, ...THREAD_FLAG },
  examples: [
    ['relay artifact search retry backoff', 'in the thread used last'],
    ['relay artifact search timeout --thread 550e84 --json', 'with scores'],
  ],
  async ask(call) {
    const limit = parseCount(call.flags.count, '--count', { min: 1, max: 1000 }) ?? 10;
    const { threads, id } = await openThread(call);
    return threads.search(id, call.args.join(' '), { limit });
  },
  print({ hits }, { interactive, style }) {
    if (hits.length === 0) return interactive ? style.dim('Nothing fits.') : '';
    const bold = (text: string) => text.replace(/\*\*(.+?)\*\*/g, (_, word: string) => style.bold(word));
    const shown = (text: string) => (interactive ? bold(printable(text)) : text).replace(/\s+/g, ' ').trim();
    return hits
      .map(({ ref, name, snippet }) => `${style.cyan(ref)}  ${plain(name)}\n    ${shown(snippet)}`)
      .join('\n');
  },
});
