import { readFile } from 'node:fs/promises';
import { basename, extname, resolve } from 'node:path';
import { RelayError } from '../../../base/errors.ts';
import type { PipelineFile } from '../../../domain/pipelines/pipelines.ts';
import type { Io } from '../io.ts';

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
