import { answerCommand } from '../command.ts';
import { moment, parseCount } from '../human.ts';
import { paint, tally } from './run-words.ts';

export default answerCommand({
  usage: '[PIPELINE]',
  flags: { limit: { value: 'N', help: 'so many of the newest (20)' } },
  takes: { max: 1 },
  examples: [
    ['relay pipeline list', 'the newest first'],
    ['relay pipeline list review', 'only those of one pipeline'],
  ],
  async ask({ io, host, flags, args }) {
    const limit = parseCount(flags.limit || undefined, '--limit', { min: 1, max: 1000 }) ?? 20;
    await using work = await host.openAgentWork(io.cwd);
    return { runs: await work.pipelines.list({ limit, pipeline: args[0] }) };
  },
  print({ runs }, { style }) {
    const width = Math.max(0, ...runs.map(({ pipeline }) => pipeline.length)) + 2;
    const lines = runs.map((run) => {
      const facts = style.dim(`${tally(run)} · ${moment(run.started_at)}`);
      return `${run.run}  ${run.pipeline.padEnd(width)}${paint(run.status, style)}  ${facts}`;
    });
    return lines.join('\n') || 'There were none yet.';
  },
});
