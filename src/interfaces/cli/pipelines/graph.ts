import type { Pipeline } from '../../../client/pipelines/definition.ts';
import { mermaid, rounds } from '../../../client/pipelines/graph.ts';
import { type RunSummary, stepOf } from '../../../client/pipelines/pipelines.ts';
import { soundPipeline } from '../../../client/pipelines/read-pipeline.ts';
import { defineCommand } from '../command.ts';
import type { Style } from '../style.ts';
import { findThread } from '../threads/thread-choice.ts';
import { paint } from './run-words.ts';
import { readPipelineFile } from './validate.ts';

export default defineCommand({
  usage: 'FILE | --run ID',
  flags: {
    run: { value: 'ID', help: 'draw this run, with what became of each step' },
    mermaid: { help: 'for documents; this is also what comes out of a pipe' },
    text: { help: 'for a terminal' },
  },
  takes: { max: 1 },
  examples: [
    ['relay pipeline graph review.yaml', 'in rounds, at the terminal'],
    ['relay pipeline graph review.yaml --mermaid', 'as Mermaid'],
    ['relay pipeline graph --run 550e8400', 'a run'],
  ],
  async run({ io, host, flags, args }) {
    let pipeline: Pipeline;
    let statusOf: (step: string) => string | undefined = () => undefined;
    if (flags.run !== undefined) {
      await using work = await host.openAgentWork(io.cwd);
      const shown = await work.pipelines.show(await findThread(work.threads, flags.run));
      pipeline = shown.pipeline;
      statusOf = statuses(shown.summary);
    } else {
      pipeline = soundPipeline(await readPipelineFile(io, args[0] ?? 'pipeline.yaml'));
    }
    const drawn = mermaid(pipeline, statusOf);
    const asText = flags.text || (io.interactive && !flags.mermaid);
    const steps = pipeline.steps.map(({ id, agent, needs }) => ({ id, agent, needs, status: statusOf(id) }));
    io.result({ name: pipeline.name, steps, mermaid: drawn }, () =>
      asText ? inRounds(pipeline, statusOf, io.style) : drawn,
    );
  },
});

/** A step of many has the worst of their statuses. */
function statuses({ steps }: RunSummary): (step: string) => string | undefined {
  const found = new Map<string, string>();
  const worst = ['failed', 'blocked', 'running', 'pending', 'skipped', 'done'];
  for (const { step, status } of steps) {
    const id = stepOf(step);
    const known = found.get(id);
    if (known === undefined || worst.indexOf(status) < worst.indexOf(known)) found.set(id, status);
  }
  return (step) => found.get(step);
}

function inRounds(pipeline: Pipeline, statusOf: (step: string) => string | undefined, style: Style): string {
  const width = Math.max(...pipeline.steps.map(({ id }) => id.length)) + 2;
  return rounds(pipeline.steps)
    .flatMap((steps, round) =>
      steps.map(({ id, agent, needs, forEach }, i) => {
        const number = i === 0 ? String(round + 1).padStart(2) : '  ';
        const status = statusOf(id);
        const from = needs.length > 0 ? style.dim(`← ${needs.join(', ')}`) : '';
        const who = style.cyan(`${agent}${forEach === undefined ? '' : ' ×'}`);
        return `${number}  ${id.padEnd(width)}${status ? paint(status, style) : ''}${who}  ${from}`.trimEnd();
      }),
    )
    .join('\n');
}
