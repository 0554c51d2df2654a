import { RelayError } from '../../../base/errors.ts';
import { badUsage, defineCommand } from '../command.ts';
import { plural } from '../human.ts';
import { removeEach } from '../remove-each.ts';
import { fileArgument, oneFile } from './file-argument.ts';

export default defineCommand({
  usage: '<space/path…>',
  details: `A file is gone for good, with all its versions. With --recursive everything whose path begins so: notes/drafts/ is a folder,
and notes/ the whole space. At a terminal that asks first.`,
  takes: { min: 1, max: 1000 },
  flags: {
    recursive: { short: 'r', help: 'everything below' },
    'if-match': { value: 'v3', help: 'only where the file is at this version' },
    force: { short: 'f', help: 'do not ask' },
  },
  examples: [
    ['relay file rm notes/plan.md', 'delete one'],
    ['relay file rm notes/plan.md --if-match v3', 'unless somebody has changed it'],
    ['relay file rm notes/drafts/ --recursive', 'a folder with all that is in it'],
  ],
  async run({ io, args, flags, name, open }) {
    const { recursive } = flags;
    if (recursive && flags['if-match'] !== undefined)
      throw badUsage('--recursive and --if-match do not go together.', 'Delete the files one by one.');
    const found = args.map((arg) => (recursive ? fileArgument(arg) : oneFile(arg, name)));
    if (recursive && !flags.force && io.stdin.isTTY && io.stderr.isTTY && !io.json) {
      const answer = await io.ask(`Delete everything below ${args.join(', ')} for good? [y/N] `);
      if (answer === null) throw new RelayError('aborted', { what: 'nobody answered', hint: 'Use --force.' });
      if (!/^y(es)?$/i.test(answer)) return;
    }
    const client = await (await open()).client();
    return removeEach(io, 'deleted', args, async (_, at) => {
      const { space, path } = found[at]!;
      const files = client.files.space(space);
      if (!recursive) return files.delete(path, { ifMatch: flags['if-match'] });
      const count = await files.remove({ prefix: path });
      if (!io.json) io.note(`${plural(count, 'file')} below ${args[at]}`);
    });
  },
});
