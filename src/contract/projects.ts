import { type Api, verbs } from './verb.ts';

/** Field names are those on the wire, so that local and remote are one type. */

/** A project whose folder the server was told to show. Nothing is ever written into it. */
export interface ProjectItem {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  readonly todos: { readonly open: number; readonly blocked: number; readonly done: number };
  readonly decisions: number;
  /** What is wrong with the files, a sentence each. */
  readonly broken: readonly string[];
  /** When one of the files was last changed; null where there is none. */
  readonly modified_at: string | null;
}

export interface ProjectTodo {
  readonly id: string;
  readonly title: string;
  readonly status: string;
  readonly priority: string;
  readonly notes: string;
  readonly created: string | null;
  readonly completed_at: string | null;
}

export interface ProjectDecision {
  /** `ADR-001`. */
  readonly id: string;
  readonly title: string;
  readonly date: string | null;
  readonly status: string;
  readonly decision: string;
  /** A later one replaces it. */
  readonly superseded: boolean;
}

export interface ProjectView extends Omit<ProjectItem, 'todos' | 'decisions'> {
  /** What `relay project start` says, without what only git knows. */
  readonly brief: string;
  readonly todos: readonly ProjectTodo[];
  readonly decisions: readonly ProjectDecision[];
}

const verb = verbs({ scope: 'threads', args: [] });

/** For the tenant of whoever runs the relay; for all others there are none. */
export const projects = {
  list: verb<() => Promise<{ readonly projects: readonly ProjectItem[] }>>('projects.list')({
    summary: 'The projects whose folders the server was told to show',
    route: 'GET /projects',
  }),
  get: verb<(id: string) => Promise<ProjectView>>('projects.get')({
    summary: 'A project: its brief, its todos and its decisions',
    route: 'GET /projects/:id',
    args: ['id'],
  }),
};

export interface ProjectsApi extends Api<typeof projects> {}
