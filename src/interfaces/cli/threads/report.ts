import { defineCommand } from '../command.ts';
import { oneOf } from '../human.ts';
import { writePayload } from '../pointers/payload.ts';
import { openThread, THREAD_FLAG } from './thread-choice.ts';

export default defineCommand({
  usage: '[<id>]',
  details: `Prints the report, which is stored as an artifact of the thread too. With --json only its artifact_ref and
the token figures are printed.`,
  flags: {
    format: { value: 'md|json', help: 'Markdown for people, or JSON (md)' },
    out: { short: 'o', value: 'FILE', help: 'write it to this file' },
    ...THREAD_FLAG,
  },
  examples: [
    ['relay report 550e84', 'facts, decisions, plan, artifacts and tokens'],
    ['relay report --format json --out run.json', 'the same as JSON, into a file'],
  ],
  async run(call) {
    const { io, args, flags } = call;
    const format = oneOf('--format', flags.format, ['md', 'json']);
    const { threads, id } = await openThread(call, { word: args[0] });
    const answer = await threads.report(id, { format });
    if (io.json && flags.out === undefined) {
      io.result(answer, '');
      return;
    }
    if (io.stderr.isTTY && !io.json) io.note(`artifact_ref  ${answer.artifact_ref}`);
    const { body } = await threads.content(id, answer.artifact_ref, { counted: false });
    await writePayload(io, body, { out: flags.out, size: answer.size });
  },
});
