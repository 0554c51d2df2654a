import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { systemEnv } from '../../base/env.ts';
import { RelayError } from '../../base/errors.ts';
import { BRIEF_TOKENS } from '../../base/limits.ts';
import { boundedBrief } from '../../client/projects/brief.ts';
import { coldStart } from '../../client/projects/cold-start.ts';
import type { Project } from '../../client/projects/project.ts';
import {
  type ProjectView as ProjectText,
  type ReadOptions,
  readProject,
} from '../../client/projects/project-view.ts';
import type { ProjectItem, ProjectTodo, ProjectView } from '../../contract/projects.ts';
import type { ProjectSource } from '../../domain/projects/projects.ts';
import { sha256 } from '../../engines/body-hashes.ts';
import { inProject } from '../../interfaces/cli/project-call.ts';
import { maskSecrets } from '../../text/secrets.ts';
import { ownTextWork } from '../store/own-text-work.ts';
import { openProject } from './project-files.ts';

/**
 * Returns the projects in these folders for the dashboard. Reads their files at each request. Omits data that
 * only git has, because a server must not start programs for a page.
 */
export function dashboardProjects(folders: readonly string[]): ProjectSource {
  const projectsById = new Map(
    folders.map((folder) => [idOf(folder), { folder, project: openProject(checked(folder)) }]),
  );
  return {
    list: () =>
      Promise.all(
        Array.from(projectsById, async ([id, { folder, project }]) =>
          itemOf(id, folder, await read(project, { quick: true })),
        ),
      ),
    get: async (id) => {
      const found = projectsById.get(id);
      return found ? viewOf(id, found.folder, found.project) : null;
    },
  };
}

/** Returns an id that does not reveal the folder's path. */
function idOf(folder: string): string {
  return sha256(resolve(folder)).slice(0, 12);
}

function checked(folder: string): string {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return folder;
  const what = `The folder ${folder} does not exist.`;
  throw new RelayError('bad_usage', { what, hint: 'Check --project.' });
}

/**
 * Reads the project files. A folder without project files counts as an empty project, because it may get
 * files later.
 */
const read = (project: Project, o?: ReadOptions) => readProject(project.files, systemEnv.now(), o);

const NO_GIT = {
  status: async () => ({ branch: null, commit: null, inFlight: [] }),
  commits: async () => [],
};

async function viewOf(id: string, folder: string, project: Project): Promise<ProjectView> {
  const view = await read(project);
  const quiet = { files: project.files, git: { ...project.git, ...NO_GIT }, read: async () => view };
  const { draft, now } = await coldStart(quiet, null);
  const { text } = await boundedBrief(draft, BRIEF_TOKENS, now, ownTextWork.count);
  const { todos: _, decisions: __, ...about } = itemOf(id, folder, view);
  const todos = view.todos.map(({ line: _, updated: __, title, notes, ...todo }): ProjectTodo => {
    return { ...todo, title: maskSecrets(title), notes: maskSecrets(notes) };
  });
  const decisions = view.decisions.map(({ id, title, date, status, decision, superseded }) => {
    return { id, title: maskSecrets(title), date, status, decision: maskSecrets(decision), superseded };
  });
  return { ...about, brief: text, todos, decisions, state: stateOf(view), handoffs: handoffsOf(view) };
}

const masked = (text: string | null) => (text === null ? null : maskSecrets(text));

function stateOf({ state }: ProjectText): ProjectView['state'] {
  if (!state) return null;
  const { phase, current_task, in_progress, blocked, next_steps, notes, last_update } = state;
  return {
    phase: masked(phase),
    current_task: masked(current_task),
    in_progress: masked(in_progress),
    blocked: blocked.map(maskSecrets),
    next_steps: next_steps.map(maskSecrets),
    notes: masked(notes),
    last_update,
  };
}

function handoffsOf({ handoffs }: ProjectText): ProjectView['handoffs'] {
  return handoffs
    .map(({ id, task, status, created, deadline, result }) => {
      return { id, task: maskSecrets(task), status, created, deadline, result: masked(result) };
    })
    .reverse();
}

function itemOf(id: string, folder: string, view: ProjectText): ProjectItem {
  const { identity, folderName, todos, decisions, broken, modified } = view;
  const count = (...statuses: string[]) => todos.filter(({ status }) => statuses.includes(status)).length;
  const [done, blocked] = [count('completed', 'done'), count('blocked')];
  const newest = Math.max(...modified.values());
  return {
    id,
    name: maskSecrets(identity?.name ?? folderName),
    description: identity?.description ? maskSecrets(identity.description) : null,
    folder: maskSecrets(inProject(resolve(folder)).project),
    todos: { open: todos.length - done - blocked, blocked, done },
    decisions: decisions.length,
    broken: modified.size > 0 ? [...broken] : ['There are no project files in this folder.'],
    modified_at: Number.isFinite(newest) ? new Date(newest).toISOString() : null,
  };
}
