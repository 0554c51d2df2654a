import { RelayError } from '../../base/errors.ts';
import { BRIEF_TOKENS } from '../../base/limits.ts';
import { boundedBrief } from '../../client/projects/brief.ts';
import { coldStart } from '../../client/projects/cold-start.ts';
import { draftAsTyped } from '../../interfaces/cli/as-typed.ts';
import { findProject } from '../projects/project-files.ts';
import { ownTextWork } from '../store/own-text-work.ts';

/** What `project_brief` answers with: the cold start of the project around a folder. */
export async function briefOf(
  folder: string,
  about: string | undefined,
  typed: (text: string) => string,
): Promise<string> {
  const project = await findProject(folder);
  if (!project) throw new RelayError('no_project', { path: folder });
  const { draft, now } = await coldStart(project, about ?? null);
  return (await boundedBrief(draftAsTyped(draft, typed), BRIEF_TOKENS, now, ownTextWork.count)).text;
}
