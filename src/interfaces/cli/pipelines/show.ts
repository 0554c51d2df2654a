import type { RunSummary } from '../../../client/pipelines/pipelines.ts';
import { answerCommand } from '../command.ts';
import { moment, rows } from '../human.ts';
import type { Style } from '../style.ts';
import { findThread } from '../threads/thread-choice.ts';
import { paint, seconds } from './run-words.ts';

export default answerCommand({
  usage: 'RUN',
  takes: { min: 1 },
  examples: [['relay pipeline show 550e8400', 'each step, with the ref of its result']],
  async ask({ io, host, args }) {
    await using work = await host.openAgentWork(io.cwd);
    const { summary } = await work.pipelines.show(await findThread(work.threads, args[0]!));
    return summary;
  },
  print(summary, { style }) {
    const { run, pipeline, status, started_at, inputs } = summary;
    const facts = rows(style.dim, [
      ['run', run],
      ['pipeline', pipeline],
      ['status', status],
      ['started', moment(started_at)],
      ...Object.entries(inputs).map(([name, value]) => [`input ${name}`, JSON.stringify(value)] as const),
    ]);
    return `${facts}\n\n${stepTable(summary, style)}`;
  },
});

/** What became of each step, one line each. */
function stepTable({ steps }: RunSummary, style: Style): string {
  const width = Math.max(4, ...steps.map(({ step }) => step.length)) + 2;
  return steps
    .map(({ step, status, ref, why, duration_ms, attempts, cached, attempt_refs }) => {
      const notes = [
        ...(cached ? ['from the cache'] : duration_ms !== undefined ? [seconds(duration_ms)] : []),
        ...(attempts > 1 ? [`${attempts} attempts`] : []),
        ...(why ? [why] : []),
        ...(ref ? [ref] : []),
        ...(attempt_refs ? [`output of failed attempts: ${attempt_refs.join(', ')}`] : []),
      ];
      return `${step.padEnd(width)}${paint(status, style)}  ${style.dim(notes.join(' · '))}`.trimEnd();
    })
    .join('\n');
}
