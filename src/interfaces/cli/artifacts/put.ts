import { ARTIFACT_BYTES } from '../../../base/limits.ts';
import { ARTIFACT_TYPES } from '../../../contract/threads/artifacts.ts';
import { answerCommand } from '../command.ts';
import { bytes, count, labelled } from '../human.ts';
import { openPayload } from '../pointers/payload.ts';
import { withProgress } from '../progress.ts';
import { plain } from '../threads/event-line.ts';
import { openThread, THREAD_FLAG } from '../threads/thread-choice.ts';

export default answerCommand({
  usage: '<file|->',
  details: `Up to 50 MiB. The ref and a preview of at most 2 KB are what goes into prompts; the content stays here until
it is asked for. Piped, the ref alone is printed.`,
  flags: {
    type: { value: 'TYPE', help: `${ARTIFACT_TYPES.join(', ')} or one of your own (told from the name)` },
    name: { short: 'n', value: 'NAME', help: 'the name it goes by (that of the file)' },
    mime: { value: 'TYPE', help: 'its media type (that of its type)' },
    source: { value: 'REF', multiple: true, help: 'what it was made from; may be repeated' },
    ...THREAD_FLAG,
  },
  examples: [
    ['relay artifact put notes.md --thread 550e84 --type markdown', 'prints its artifact_ref'],
    ['npm test 2>&1 | relay artifact put - --type tool_output --name test.log', 'from a pipe'],
    ['ref=$(relay artifact put survey.md)', 'the ref alone, for a script'],
  ],
  async ask(call) {
    const { io, args, flags } = call;
    const source = await openPayload(io, args[0]!, { limit: ARTIFACT_BYTES });
    const { threads, id } = await openThread(call, { use: true });
    const { size, label } = source;
    const { type, mime, source: source_refs } = flags;
    const body = withProgress(io, source.body, source);
    const name = flags.name ?? (args[0] === '-' ? undefined : label);
    return threads.putArtifact(id, { body, size, name, type, mime, source_refs });
  },
  print({ ref, name, type, size, tokens }, io) {
    const about = tokens.estimated ? 'about ' : '';
    return labelled(io, 'artifact_ref', ref, [
      plain(name),
      type,
      bytes(size),
      `${about}${count(tokens.content)} tokens, its preview ${count(tokens.preview)} (${tokens.tokenizer})`,
    ]);
  },
});
