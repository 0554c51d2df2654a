import { defineCommand } from '../command.ts';
import { bytes, parseCount, tokensInWords } from '../human.ts';
import { PART_FLAGS, partOf, writePart } from '../pointers/part-flags.ts';
import { notForTerminals, writePayload } from '../pointers/payload.ts';
import { oneFile } from './file-argument.ts';

export default defineCommand({
  usage: '<space/path>',
  details: `The bytes go to standard output as they are. A part costs a model only its own tokens: look at --outline
first, then take the lines you need. With --json everything but the content is: version, size, hash, type, metadata.`,
  flags: {
    ...PART_FLAGS,
    version: { value: 'N', help: 'an earlier version, as relay file log has it' },
    cost: { help: 'only what it would cost, in tokens' },
    out: { short: 'o', value: 'FILE', help: 'write to this file, whole or not at all' },
    force: { short: 'f', help: 'write binary data even to a terminal' },
  },
  examples: [
    ['relay file get notes/plan.md', 'to standard output'],
    ['relay file get notes/plan.md --version 3 --out old.md', 'as it was, into a file'],
    ['relay file get code/src/main.ts --grep "TODO" -C 2', 'matching lines, each with two around it'],
  ],
  async run({ io, args, flags, name, open }) {
    const part = partOf(flags, `${name} <space/path>`);
    const { space, path } = oneFile(args[0]!, name);
    const version = parseCount(flags.version?.replace(/^v/, ''), '--version', {
      max: Number.MAX_SAFE_INTEGER,
    });
    const { files } = (await open()).relay;
    if (flags.cost) {
      const cost = await files.cost(space, path, part, { version });
      io.result(cost, `${tokensInWords(cost)}, ${bytes(cost.bytes)}`);
      return;
    }
    if (part) {
      await writePart(io, await files.part(space, path, part, { version }), flags);
      return;
    }
    if (io.json && flags.out === undefined) {
      io.result(await files.info(space, path, { version }), '');
      return;
    }
    const { file, body } = await files.get(space, path, { version });
    if (!file.text && io.interactive && !flags.force && flags.out === undefined) {
      if (!(body instanceof Uint8Array)) await body.cancel();
      throw notForTerminals();
    }
    await writePayload(io, body, { ...flags, size: file.size });
  },
});
