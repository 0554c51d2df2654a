import type * as shapes from '../schemas/projects.ts';
import { verbs } from './verb.ts';

export type * from '../schemas/projects.ts';

const verb = verbs({ scope: 'threads', args: [] });

/** Projects, which only the tenant of the operator can see. Other tenants get an empty list. */
export const projects = {
  list: verb<() => Promise<{ readonly projects: readonly shapes.ProjectItem[] }>>('projects.list')({
    summary: 'List the projects whose folders the server is configured to show',
    route: 'GET /projects',
  }),
  get: verb<(id: string) => Promise<shapes.ProjectView>>('projects.get')({
    summary: 'Get a project: its brief, todos and decisions',
    route: 'GET /projects/:id',
    args: ['id'],
  }),
};
