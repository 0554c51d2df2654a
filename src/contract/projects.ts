import type * as shapes from '../schemas/projects.ts';
import { verbs } from './verb.ts';

export type * from '../schemas/projects.ts';

const verb = verbs({ scope: 'threads', args: [] });

/** For the tenant of whoever runs the relay; for all others there are none. */
export const projects = {
  list: verb<() => Promise<{ readonly projects: readonly shapes.ProjectItem[] }>>('projects.list')({
    summary: 'The projects whose folders the server was told to show',
    route: 'GET /projects',
  }),
  get: verb<(id: string) => Promise<shapes.ProjectView>>('projects.get')({
    summary: 'A project: its brief, its todos and its decisions',
    route: 'GET /projects/:id',
    args: ['id'],
  }),
};
