/** One of several processes that write the same project at once: node todo-writer.ts <folder> <name> <count>. */
import { openProject } from '../../src/app/projects/project-files.ts';

const [, , folder, name, count] = process.argv as [string, string, string, string, string];
const project = openProject(folder);
for (let n = 0; n < Number(count); n++) {
  const todo = await project.addTodo({ title: `${name}-${n}` });
  if (n % 2 === 0) await project.changeTodo(todo.id, { status: 'completed' });
  if (n % 5 === 0) await project.sync({ done: [`${name}-${n}`] });
}
