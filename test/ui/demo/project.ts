import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dashboardProjects } from '../../../src/app/projects/dashboard-projects.ts';
import { openProject } from '../../../src/app/projects/project-files.ts';

/** Creates a project in a temporary folder, for the dashboard of the demo. */
export async function createDemoProject() {
  const above = mkdtempSync(join(tmpdir(), 'relay-demo-'));
  const folder = join(above, 'checkout');
  mkdirSync(folder);
  const project = openProject(folder);
  await project.init();
  writeFileSync(
    join(folder, 'PROJECT.md'),
    '# checkout\n\nThe checkout of the shop: cart, tax, payment. Three services and a queue.\n',
  );
  await project.decide({
    title: 'Keep connections to the tax service',
    context: 'Since 4.2 a connection is opened for each item.',
    decision: 'A pool of 16 connections, taken for at most 250 ms.',
    consequences: 'A service that hangs is felt by sixteen carts and not by all.',
  });
  await project.decide({
    title: 'One request for all items of a cart',
    context: 'The service takes up to 500.',
    decision: 'Quotes are asked for together.',
    consequences: 'Carts of more than 500 items are asked for in parts.',
  });
  const todos = [
    { title: 'Reuse connections to the tax service', priority: 'high', status: 'completed' },
    { title: 'Load test with 500 carts a second', priority: 'high', status: 'in_progress' },
    { title: 'Ask the vendor whether idle connections are closed', priority: 'medium', status: 'blocked' },
    { title: 'Alert on the 95th percentile instead of the mean', priority: 'low', status: 'pending' },
  ] as const;
  for (const { title, priority, status } of todos) {
    const { id } = await project.addTodo({ title, priority });
    if (status !== 'pending') await project.changeTodo(id, { status, reason: 'nobody there has answered' });
  }
  await project.sync({
    task: 'Load test with 500 carts a second',
    doing: 'Writing the script of the carts',
    next: ['Run it on the staging system', 'Compare the 95th percentile with the one of Monday'],
    blocked: ['Staging system: no access yet'],
  });
  return {
    source: dashboardProjects([folder]),
    folder,
    remove: () => rmSync(above, { recursive: true, force: true }),
  };
}
