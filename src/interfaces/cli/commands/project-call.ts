import { resolve } from 'node:path';
import { RelayError } from '../../../base/errors.ts';
import { secretWarning } from '../../../client/projects/brief.ts';
import { oneLine } from '../../../client/projects/decisions.ts';
import type { Project } from '../../../client/projects/project.ts';
import {
  type AnswerSpec,
  answerCommand,
  badUsage,
  type Command,
  type Flags,
  type Invocation,
} from '../command.ts';

/** What may be told to every command that reads or writes a folder which others may have filled. */
export const LINKS_FLAG = {
  'follow-links': { help: 'follow symbolic links that lead out of the folder' },
} as const satisfies Flags;

/** What every command about a project understands. */
export const PROJECT_FLAGS = {
  ...LINKS_FLAG,
  dir: { value: 'DIR', help: 'the project folder (here, or the nearest one above that has the files)' },
} as const satisfies Flags;

/** A command that gets one answer about the project it is called for, and takes --dir. */
export function projectCommand<const F extends Flags, A>(
  spec: Omit<AnswerSpec<F, A>, 'ask'> & {
    ask(project: Project, call: Invocation<F>): Promise<A>;
    /** Its words go into a project file, so a secret among them is warned of. */
    readonly stores?: boolean;
  },
): Command {
  return answerCommand<F, A>({
    ...spec,
    flags: { ...spec.flags, ...PROJECT_FLAGS } as Flags as F,
    async ask(call) {
      const answer = await spec.ask(await theProject(call), call);
      const warning = spec.stores ? secretWarning([...call.args, ...Object.values(call.flags)]) : null;
      if (warning !== null) call.io.warn(warning);
      return answer;
    },
  });
}

/** The project a command is about; refuses where there is none. */
export async function theProject({ io, host, flags }: Invocation<typeof PROJECT_FLAGS>): Promise<Project> {
  const o = { followLinks: flags['follow-links'] };
  if (flags.dir !== undefined) return host.projects.open(resolve(io.cwd, flags.dir), o);
  const found = await host.projects.find(io.cwd, o);
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
