import type { TodoChange } from '../../../domain/projects/todos.ts';
import { type Command, defineCommand, type Flags } from '../command.ts';
import { PROJECT_FLAGS, theProject } from '../projects/project-call.ts';

/** A command that moves one todo to another status. */
export function defineTodoChange(spec: {
  readonly example: readonly [string, string];
  readonly flags?: Flags;
  change(flags: { readonly [name: string]: string | undefined }): TodoChange;
}): Command {
  return defineCommand({
    usage: '<id>',
    flags: { ...spec.flags, ...PROJECT_FLAGS },
    takes: { min: 1, max: 1 },
    examples: [spec.example],
    async run(call) {
      const { io, flags, args } = call;
      const change = spec.change(flags as { [name: string]: string | undefined });
      const project = await theProject(call);
      const { todo, changed } = await project.changeTodo(args[0]!, change);
      const status = todo.status.replace('_', ' ');
      io.result(
        { ...todo, changed },
        `${todo.id}  ${changed ? status : `was ${status} already`}  ${todo.title}`,
      );
    },
  });
}
