import { badUsage, defineCommand } from '../command.ts';
import { printable } from '../human.ts';
import { PART_FLAGS, partOf, writePart } from '../pointers/part-flags.ts';
import { notForTerminals, writePayload } from '../pointers/payload.ts';
import { findArtifact, openThread, THREAD_FLAG } from '../threads/thread-choice.ts';
import { showRead } from '../threads/thread-read.ts';

export default defineCommand({
  usage: '<ref>',
  details: `The bytes go to standard output as they are, which is counted as a pull in relay stats. With --preview only
what goes into prompts is printed. A part costs a model only its own tokens: look at --outline first, then take the
lines you need. With --json everything but the content is: type, name, size, hash, preview,
provenance and tokens. The beginning of a ref will do, or a name: of several by that name, the newest.`,
  flags: {
    ...PART_FLAGS,
    preview: { short: 'p', help: 'only the preview' },
    out: { short: 'o', value: 'FILE', help: 'write to this file, whole or not at all' },
    force: { short: 'f', help: 'write binary data even to a terminal' },
    ...THREAD_FLAG,
  },
  examples: [
    ['relay artifact get 01914a2b3c4d5e6f7890abcdef', 'to standard output'],
    ['relay artifact get survey.md --outline', 'what is in it, for a few tokens'],
    ['relay artifact get survey.md --lines 120-180', 'these lines'],
    ['relay artifact get survey.md --out survey.md', 'by its name, into a file'],
    ['relay artifact get <ref> --preview', 'what a model is shown of it'],
  ],
  async run(call) {
    const { io, args, flags } = call;
    if (flags.preview && flags.out !== undefined) {
      throw badUsage(
        '--preview and --out do not go together.',
        'Redirect the preview: relay artifact get <ref> --preview > FILE',
      );
    }
    const part = partOf(flags, 'relay artifact get <ref>');
    if (part && flags.preview) throw badUsage('A preview has no parts.', 'Leave out --preview, or the part.');
    const { threads, id } = await openThread(call);
    const ref = await findArtifact(threads, id, args[0]!);
    if (part) {
      await writePart(io, await threads.part(id, ref, part), flags);
      return;
    }
    if (flags.preview || (io.json && flags.out === undefined)) {
      const artifact = await threads.artifact(id, ref, { counted: false });
      const { text } = artifact.preview;
      await showRead(
        call,
        { threads, id, what: 'previews' },
        artifact,
        io.interactive ? printable(text) : text,
      );
      return;
    }
    if (io.interactive && !flags.force && flags.out === undefined) {
      // Before it counts as a pull.
      const { type } = await threads.artifact(id, ref, { counted: false });
      if (type === 'binary') throw notForTerminals();
    }
    const { artifact, body } = await threads.content(id, ref, {
      counted: !io.interactive && flags.out === undefined,
    });
    await writePayload(io, body, { ...flags, size: artifact.size });
  },
});
