import type { TaskStatus } from '../../../contract/tasks.ts';
import { answerCommand, type Command } from '../command.ts';
import { textOrFile } from '../pointers/payload.ts';
import { taskArgument } from './task-words.ts';

export default settlementCommand('done');

/** `relay task done` and `relay task fail` differ in one word. */
export function settlementCommand(status: TaskStatus): Command {
  const word = status === 'done' ? 'done' : 'fail';
  const text = status === 'done' ? 'Tests pass; nothing is left' : 'The build does not start';
  return answerCommand({
    usage: '<id|url> [text|-]',
    details: `The text is what the sender gets; - reads it from standard input, --file from a file. It is brought once:
the same again is fine, another result is refused. The first line is the summary unless --summary says another.`,
    takes: { min: 1, max: 2 },
    flags: {
      file: { short: 'f', value: 'FILE', help: 'the result is in this file' },
      summary: { short: 's', value: 'TEXT', help: 'one line for lists' },
    },
    examples: [
      [`relay task ${word} <id> "${text}"`, 'the result in words'],
      [`relay task ${word} <id> --file report.md --summary "see the report"`, 'a long one'],
    ],
    async ask({ io, args, flags, open }) {
      const id = await taskArgument(io, args[0]!);
      // Standard input only where it was asked for: an agent's shell may hold it open for ever.
      const data = await textOrFile(io, 'result', args[1], flags.file);
      const { tasks } = (await open()).relay;
      return tasks[word](id, { data, summary: flags.summary });
    },
    print: (result, io) => (io.interactive ? `${result.status}: ${result.url}` : result.url),
  });
}
