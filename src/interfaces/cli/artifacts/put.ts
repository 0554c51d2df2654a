import { ARTIFACT_BYTES } from '../../../base/limits.ts';
import { ARTIFACT_TYPES } from '../../../contract/threads/artifacts.ts';
import { defineCommand } from '../command.ts';
import { bytes, count, oneOf } from '../human.ts';
import { openPayload } from '../pointers/payload.ts';
import { withProgress } from '../progress.ts';
import { plain } from '../threads/event-line.ts';
import { chooseThread, THREAD_FLAG } from '../threads/thread-choice.ts';

export default defineCommand({
  usage: '<file|->',
  details: `Up to 50 MiB. The ref and a preview of at most 2 KB are what goes into prompts; the content stays here until
it is asked for. Piped, the ref alone is printed.`,
  takes: { min: 1 },
  flags: {
    type: { value: 'TYPE', help: `${ARTIFACT_TYPES.join(', ')} (told from the name)` },
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
  async run({ io, host, args, flags }) {
    const type = oneOf('--type', flags.type, ARTIFACT_TYPES);
    const source = await openPayload(io, args[0]!, { limit: ARTIFACT_BYTES });
    const body = source.body instanceof Uint8Array ? source.body : withProgress(io, source.body, source);
    await using open = await host.openClient();
    const id = await chooseThread({ io, host }, open, flags.thread, { use: true });
    const artifact = await open.relay.threads.putArtifact(id, {
      body,
      size: source.size,
      name: flags.name ?? (args[0] === '-' ? undefined : source.label),
      type,
      mime: flags.mime,
      source_refs: flags.source,
    });
    io.result(artifact, () => {
      if (!io.interactive) return artifact.ref;
      const { tokens } = artifact;
      const about = tokens.estimated ? 'about ' : '';
      const facts = [
        plain(artifact.name),
        artifact.type,
        bytes(artifact.size),
        `${about}${count(tokens.content)} tokens, its preview ${count(tokens.preview)} (${tokens.tokenizer})`,
      ];
      return `${io.style.dim('artifact_ref')}  ${artifact.ref}\n${io.style.dim(facts.join(' · '))}`;
    });
  },
});
