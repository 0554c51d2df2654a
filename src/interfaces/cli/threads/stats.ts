import type { Stats, SumStats } from '../../../contract/threads/tokens.ts';
import { answerCommand, badUsage } from '../command.ts';
import type { Style } from '../style.ts';
import { openThread, THREAD_FLAG } from './thread-choice.ts';

export default answerCommand({
  usage: '[<id>]',
  details: `Naive are the contents of the artifacts, each once; actual are their previews; what was avoided is the difference.
Where prompts were made of the thread, the prompt ledger follows: what they would have cost with the artifacts that they stood for pasted,
and what was put in front of a model instead, pulls and reads with it. The difference may be negative. All of it is counted by a
tokenizer, whose name is given; docs/tokens.md has the definitions.`,
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

type Row = readonly [name: string, figure: number];

/** The six figures of a thread, and who counted them; then the prompts, where there were any. */
export function tokenRows(stats: Stats | SumStats, style: Style): string {
  const { prompts, billed } = stats;
  const figures: readonly Row[] = [
    ['artifacts', stats.artifacts],
    ['naive tokens (if pasted)', stats.naive_tokens],
    ['actual tokens (via refs)', stats.actual_tokens],
    ['tokens avoided', stats.avoided_tokens],
    ['cache hits', stats.cache_hits],
    ['session cache hits', stats.session_cache_hits],
  ];
  const prompted: readonly Row[] = prompts
    ? [
        ['prompts', prompts.prompts],
        ['pasted into them', prompts.pasted_tokens],
        ['shown to models instead', prompts.shown_tokens],
        ['  by prompts', prompts.prompt_tokens],
        ['  by pulls while answering', prompts.tool_call_tokens],
        ['  read beside them', prompts.read_tokens],
        ['avoided by prompts', prompts.avoided_tokens],
      ]
    : [];
  const all = [...figures, ...prompted];
  const label = Math.max(...all.map(([name]) => name.length));
  const width = Math.max(9, ...all.map(([, n]) => String(n).length + 2));
  const rows = (some: readonly Row[]) =>
    some.map(([name, n]) => `  ${style.dim(name.padEnd(label))}${String(n).padStart(width)}`);
  const by = stats.tokenizer === '' ? 'nothing to count yet' : `counted with ${stats.tokenizer}`;
  const counted = `${by}${stats.estimated ? ', some of it estimated' : ''}`;
  const ledger = prompts
    ? [
        '',
        ...rows(prompted),
        '',
        `  ${style.dim(against(prompts.shown_tokens, prompts.pasted_tokens) + bill(billed))}`,
      ]
    : [];
  const compared = against(stats.actual_tokens, stats.naive_tokens);
  return [
    ...rows(figures),
    '',
    `  ${style.dim([counted, compared].filter(Boolean).join('; '))}`,
    ...ledger,
  ].join('\n');
}

function against(shown: number, pasted: number): string {
  if (pasted === 0) return '';
  const share = ((shown - pasted) / pasted) * 100;
  if (share === 0) return 'as much as pasting';
  return `${Math.abs(share).toFixed(1)} % ${share > 0 ? 'more' : 'less'} than pasting`;
}

function bill({ input_tokens, output_tokens, cached_input_tokens }: Stats['billed']): string {
  if (input_tokens + output_tokens === 0) return '';
  return `; billed ${input_tokens} in (${cached_input_tokens} cached), ${output_tokens} out`;
}
