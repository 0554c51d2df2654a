import { existsSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { RelayError } from '../../base/errors.ts';
import { secretWarning } from '../../client/projects/brief.ts';
import { oneLine } from '../../client/projects/decisions.ts';
import type { Project } from '../../client/projects/project.ts';
import {
  type AnswerSpec,
  answerCommand,
  badUsage,
  type Command,
  type Flags,
  type Invocation,
} from './command.ts';

/**
 * The --follow-links flag of commands that read or write a folder. Symbolic links in a folder may come from
 * other people.
 */
export const LINKS_FLAG = {
  'follow-links': { help: 'follow symbolic links that point outside the folder' },
} as const satisfies Flags;

/** Flags of every project command. */
export const PROJECT_FLAGS = {
  ...LINKS_FLAG,
  dir: { value: 'DIR', help: 'project folder (this folder or the nearest parent with project files)' },
} as const satisfies Flags;

/** Defines a command that works on a project and accepts --dir and --follow-links. */
export function projectCommand<const F extends Flags, A>(
  spec: Omit<AnswerSpec<F, A>, 'ask'> & {
    ask(project: Project, call: Invocation<F>): Promise<A>;
    /**
     * True if the command writes its arguments to a project file. The command then warns if an argument contains
     * a secret.
     */
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

/**
 * Returns the name of the project that contains a folder, and a path relative to the project. The project is
 * the repository or, without one, the folder itself. Claims use the name of the project, because each machine
 * may have the repository in another folder.
 */
export function inProject(folder: string, path = '.'): { readonly project: string; readonly path: string } {
  let root = folder;
  while (!existsSync(join(root, '.git')) && dirname(root) !== root) root = dirname(root);
  if (!existsSync(join(root, '.git'))) root = folder;
  return {
    project: basename(root) || 'root',
    path: relative(root, resolve(folder, path)).replaceAll(sep, '/'),
  };
}

/** Opens the project that a command works on. Throws if there is no project. */
export async function theProject({ io, host, flags }: Invocation<typeof PROJECT_FLAGS>): Promise<Project> {
  const o = { followLinks: flags['follow-links'] };
  if (flags.dir !== undefined) return host.projects.open(resolve(io.cwd, flags.dir), o);
  const found = await host.projects.find(io.cwd, o);
  if (found === null) throw new RelayError('no_project', { path: io.cwd });
  return found;
}

/**
 * Returns the text without surrounding spaces. Throws if it is missing or empty. Joins its lines into one
 * unless `keep` is set.
 */
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
      missing ? `Pass a short text: ${name} "…"` : 'Pass a short text.',
    );
  }
  return text;
}
