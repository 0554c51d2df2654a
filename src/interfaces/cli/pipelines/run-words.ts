import type { RunSummary } from '../../../client/pipelines/pipelines.ts';
import { plural, span } from '../human.ts';
import type { Style } from '../style.ts';

export function paint(status: string, style: Style): string {
  const word = status.padEnd(11);
  if (status === 'done') return style.green(word);
  if (status === 'failed') return style.red(word);
  return status === 'running' ? style.cyan(word) : style.yellow(word);
}

/** `3 done, 1 failed, 2 blocked` */
export function tally(summary: Pick<RunSummary, 'steps'>): string {
  const groups = Map.groupBy(summary.steps, ({ status }) => status);
  return [...groups].map(([status, { length }]) => `${length} ${status}`).join(', ') || plural(0, 'step');
}

export function seconds(ms: number): string {
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : span(ms);
}
