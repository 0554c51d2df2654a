import { defineCommand } from '../command.ts';
import { moment, rows } from '../human.ts';
import { findThread } from '../threads/thread-choice.ts';
import { runTable } from './run-table.ts';

export default defineCommand({
  usage: 'RUN',
  takes: { min: 1 },
  examples: [['relay pipeline show 550e8400', 'each step, with the ref of its result']],
  async run({ io, host, args }) {
    await using work = await host.openAgentWork(io.cwd);
    const { summary } = await work.pipelines.show(await findThread(work.threads, args[0]!));
    const { run, pipeline, status, started_at, inputs } = summary;
    io.result(summary, () =>
      [
        rows(io.style.dim, [
          ['run', run],
          ['pipeline', pipeline],
          ['status', status],
          ['started', moment(Date.parse(started_at), Date.now())],
          ...Object.entries(inputs).map(([name, value]) => [`input ${name}`, JSON.stringify(value)] as const),
        ]),
        '',
        runTable(summary, io.style),
      ].join('\n'),
    );
  },
});
