import { unsearchedText } from '../../../contract/threads/search.ts';
import { parseCount, printable } from '../human.ts';
import { plain } from '../threads/event-line.ts';
import { THREAD_FLAG } from '../threads/thread-choice.ts';
import { readCommand } from '../threads/thread-read.ts';

export default readCommand('searches', {
  usage: '<words…>',
  details: `Words, or a question in words of your own: passages with most of its words come first, rare words counting more. An
artifact may be there several times; the number is the line on which the passage begins.`,
  takes: { min: 1, max: 100 },
  flags: { count: { short: 'n', value: 'N', help: 'so many at most (10)' }, ...THREAD_FLAG },
  examples: [
    ['relay artifact search retry backoff', 'in the thread used last'],
    ['relay artifact search "how long does it wait before the third try?"', 'a question'],
    ['relay artifact search timeout --thread 550e84 --json', 'with scores'],
  ],
  async ask({ threads, id }, call) {
    const limit = parseCount(call.flags.count, '--count', { min: 1, max: 1000 }) ?? 10;
    return threads.search(id, call.args.join(' '), { limit, counted: false });
  },
  print({ hits, unsearched }, { interactive, style, ...io }) {
    if (unsearched) io.warn(unsearchedText(unsearched));
    if (hits.length === 0) return interactive ? style.dim('Nothing fits.') : '';
    const bold = (text: string) => text.replace(/\*\*(.+?)\*\*/g, (_, word: string) => style.bold(word));
    const shown = (text: string) => (interactive ? bold(printable(text)) : text).replace(/\s+/g, ' ').trim();
    return hits
      .map(
        ({ ref, name, line, snippet }) => `${style.cyan(ref)}  ${plain(name)}:${line}\n    ${shown(snippet)}`,
      )
      .join('\n');
  },
});
