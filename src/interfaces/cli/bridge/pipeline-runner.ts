import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { isRelayError, RelayError } from '../../../base/errors.ts';
import type { Ran, Runner } from '../../../client/bridge/runner.ts';
import type { PipelineFile } from '../../../client/pipelines/definition.ts';
import { readPipeline } from '../../../client/pipelines/read-pipeline.ts';
import { PIPELINE_RUNNER } from '../../../contract/task-names.ts';
import type { Host } from '../host.ts';
import type { Io } from '../io.ts';
import { readPipelineFile } from '../pipelines/validate.ts';

/** The two commands that a task may be, word for word as the dashboard offers them. */
const ORDER = /^relay pipeline run (?:--run ([0-9a-f-]{36})|--of ([0-9a-f-]{36}) --from ([\w.-]+))\s*$/;

/**
 * Goes on with runs of pipelines and does steps of them again. What is run comes from the files of the folder and never from
 * the run, which whoever may write threads could have made up.
 */
export function pipelineRunner(io: Io, host: Host, folder: string): Runner {
  return {
    kind: PIPELINE_RUNNER,
    target: folder,
    async open() {
      await filesIn(io, folder);
    },
    async run({ text, signal }): Promise<Ran> {
      const [, resumed, of, from] = ORDER.exec(text.trim()) ?? [];
      const run = resumed ?? of;
      if (run === undefined)
        return {
          output: '',
          failed: 'This bridge takes nothing but relay pipeline run --run, and --of with --from.',
        };
      await using work = await host.openAgentWork(io.cwd);
      try {
        const { pipeline } = await work.threads.run(run);
        const file = (await filesIn(io, folder)).get(pipeline);
        if (!file)
          return { output: '', failed: `There is no file of the pipeline ${pipeline} in ${folder}.` };
        const summary = from
          ? await work.pipelines.rerun(run, from, file, { signal })
          : await work.pipelines.resume(run, file, { signal });
        const output = `run ${summary.run} of ${pipeline}: ${summary.status}`;
        return summary.status === 'done' ? { output } : { output, failed: output };
      } catch (error) {
        if (!isRelayError(error)) throw error;
        return { output: '', failed: error.message };
      }
    },
    close: async () => {},
  };
}

/** By the name of the pipeline. Files that are no pipelines are left alone. */
async function filesIn(io: Io, folder: string): Promise<Map<string, PipelineFile>> {
  const found = new Map<string, PipelineFile>();
  const names = await readdir(resolve(io.cwd, folder)).catch(() => {
    throw new RelayError('missing', { what: `folder ${folder}` });
  });
  for (const name of names.filter((one) => /\.ya?ml$/.test(one)).sort()) {
    const file = await readPipelineFile(io, join(folder, name));
    const { pipeline } = readPipeline(file.text, file.name);
    if (pipeline && !found.has(pipeline.name)) found.set(pipeline.name, file);
  }
  return found;
}
