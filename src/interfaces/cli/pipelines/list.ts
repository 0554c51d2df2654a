import { defineCommand } from '../command.ts';
import { moment, parseCount } from '../human.ts';
import { paint, tally } from './run-words.ts';

export default defineCommand({
  usage: '[PIPELINE]',
  flags: { limit: { value: 'N', help: 'so many of the newest (20)' } },
  takes: { max: 1 },
  examples: [
    ['relay pipeline list', 'the newest first'],
    ['relay pipeline list review', 'only those of one pipeline'],
  ],
  async run({ io, host, flags, args }) {
    const limit = parseCount(flags.limit || undefined, '--limit', { min: 1, max: 1000 }) ?? 20;
    await using work = await host.openAgentWork(io.cwd);
    const runs = await work.pipelines.list({ limit, pipeline: args[0] });
    const width = Math.max(0, ...runs.map(({ pipeline }) => pipeline.length)) + 2;
    io.result({ runs }, () =>
      runs.length === 0
        ? 'There were none yet.'
        : runs
            .map((run) => {
              const when = moment(Date.parse(run.started_at), Date.now());
              return `${run.run}  ${run.pipeline.padEnd(width)}${paint(run.status, io.style)}  ${io.style.dim(`${tally(run)} · ${when}`)}`;
            })
            .join('\n'),
    );
  },
});
