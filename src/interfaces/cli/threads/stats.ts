import type { Stats, SumStats } from '../../../contract/threads/tokens.ts';
import { answerCommand, badUsage } from '../command.ts';
import type { Style } from '../style.ts';
import { openThread, THREAD_FLAG } from './thread-choice.ts';

export default answerCommand({
  usage: '[<id>]',
  details: `Naive is what pasting every artifact once would have cost. Actual is what went out instead: headers,
previews, and every content that was pulled later. What was avoided is the difference, and it may be negative. All of
it is counted by a tokenizer, whose name is given; nothing is guessed from lengths.`,
  flags: { all: { help: 'all threads together' }, ...THREAD_FLAG },
  examples: [
    ['relay stats', 'of the thread used last'],
    ['relay stats 550e84 --json', 'with what the figures are made of'],
    ['relay stats --all', 'of all threads together'],
  ],
  async ask(call) {
    const { args, flags } = call;
    const word = args[0] ?? flags.thread;
    if (flags.all && word !== undefined) {
      throw badUsage(
        '--all is about all threads, not about one.',
        `Use: relay stats ${word}, or: relay stats --all`,
      );
    }
    if (flags.all) return (await call.open()).relay.threads.totals();
    const { threads, id } = await openThread(call, { word: args[0] });
    return threads.stats(id);
  },
  print: (stats: Stats | SumStats, { style }) => tokenRows(stats, style),
});

/** The six figures of a thread, and who counted them. */
export function tokenRows(stats: Stats | SumStats, style: Style): string {
  const figures: readonly (readonly [string, number])[] = [
    ['artifacts', stats.artifacts],
    ['naive tokens (if pasted)', stats.naive_tokens],
    ['actual tokens (via refs)', stats.actual_tokens],
    ['tokens avoided', stats.avoided_tokens],
    ['cache hits', stats.cache_hits],
    ['session cache hits', stats.session_cache_hits],
  ];
  const label = Math.max(...figures.map(([name]) => name.length));
  const width = Math.max(9, ...figures.map(([, n]) => String(n).length + 2));
  const lines = figures.map(([name, n]) => `  ${style.dim(name.padEnd(label))}${String(n).padStart(width)}`);
  return [...lines, '', `  ${style.dim(howCounted(stats))}`].join('\n');
}

function howCounted({ tokenizer, estimated, naive_tokens, actual_tokens }: Stats | SumStats): string {
  const by = tokenizer === '' ? 'nothing to count yet' : `counted with ${tokenizer}`;
  const about = estimated ? ', some of it estimated' : '';
  if (naive_tokens === 0) return by + about;
  const share = ((actual_tokens - naive_tokens) / naive_tokens) * 100;
  const compared =
    share === 0
      ? 'as much as pasting'
      : `${Math.abs(share).toFixed(1)} % ${share > 0 ? 'more' : 'less'} than pasting`;
  return `${by}${about}; ${compared}`;
}
