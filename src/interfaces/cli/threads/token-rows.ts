import type { Stats, SumStats } from '../../../contract/threads/tokens.ts';
import type { Style } from '../style.ts';

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
