import { resolve } from 'node:path';
import { RelayError } from '../../../base/errors.ts';
import { oneLine } from '../../../client/projects/decisions.ts';
import type { Project } from '../../../client/projects/project.ts';
import { badUsage, type Flags } from '../command.ts';
import type { Host } from '../host.ts';
import type { Io } from '../io.ts';

/** What every command about a project understands. */
export const PROJECT_FLAGS = {
  dir: { value: 'DIR', help: 'the project folder (here, or the nearest one above that has the files)' },
} as const satisfies Flags;

/** The project a command is about; refuses where there is none. */
export async function theProject(call: {
  readonly io: Io;
  readonly host: Host;
  readonly flags: { readonly dir?: string };
}): Promise<Project> {
  const { io, host, flags } = call;
  if (flags.dir !== undefined) return host.openProject(resolve(io.cwd, flags.dir));
  const found = await host.findProject(io.cwd);
  if (found === null) throw new RelayError('no_project', { path: io.cwd });
  return found;
}

/** A text that must say something: on one line, unless `keep` asks for its lines. */
export function needText(
  name: string,
  value: string | undefined,
  o: { readonly keep?: boolean } = {},
): string {
  const text = o.keep ? (value ?? '').trim() : oneLine(value ?? '');
  if (text === '') {
    const missing = value === undefined && name.startsWith('--');
    throw badUsage(
      missing ? `${name} is missing.` : `${name} must not be empty.`,
      missing ? `Say it in a few words: ${name} "…"` : 'Say it in a few words.',
    );
  }
  return text;
}
