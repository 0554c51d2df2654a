import { readFile } from 'node:fs/promises';
import { basename, extname, resolve } from 'node:path';
import { EXIT, RelayError } from '../../../base/errors.ts';
import type { PipelineFile } from '../../../client/pipelines/definition.ts';
import { readPipeline } from '../../../client/pipelines/read-pipeline.ts';
import { defineCommand } from '../command.ts';
import { plural } from '../human.ts';
import type { Io } from '../io.ts';

export default defineCommand({
  usage: 'FILE',
  details:
    'Ends with 2 where something is wrong. What is merely odd, such as an input that is never used, is a warning.',
  takes: { min: 1 },
  examples: [['relay pipeline validate review.yaml', 'file:line: what is wrong']],
  async run({ io, args }) {
    const file = await readPipelineFile(io, args[0]!);
    const { pipeline, problems } = readPipeline(file.text, file.name);
    const ok = problems.every(({ severity }) => severity === 'warning');
    const lines = problems.map(({ line, what, severity }) => {
      const mark = severity === 'warning' ? io.style.yellow('warning: ') : '';
      return `${file.file}:${line}: ${mark}${what}`;
    });
    if (ok && pipeline)
      lines.push(`${io.style.green('ok')} ${pipeline.name}: ${plural(pipeline.steps.length, 'step')}`);
    io.result({ ok, problems }, lines.join('\n'));
    return ok ? EXIT.ok : EXIT.usage;
  },
});

/** A pipeline's file as it is named on the command line. */
export async function readPipelineFile(io: Io, name: string): Promise<PipelineFile> {
  try {
    const text = await readFile(resolve(io.cwd, name), 'utf8');
    return { text, file: name, name: basename(name, extname(name)) };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw new RelayError('missing', { what: `file ${name}` });
    throw new RelayError('failed', { what: `${name} cannot be read (${code}).` });
  }
}
