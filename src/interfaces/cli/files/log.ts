import { answerCommand } from '../command.ts';
import { bytes, moment, printable, rows } from '../human.ts';
import { oneFile } from './file-argument.ts';

export default answerCommand({
  usage: '<space/path>',
  details:
    'Each with when, by whom, how large and its hash. relay file get SPACE/PATH --version 3 reads one of them.',
  examples: [
    ['relay file log notes/plan.md', 'newest first'],
    ['relay file log notes/plan.md --json', 'with all that is known of each'],
  ],
  async ask({ args, name, open }) {
    const { space, path } = oneFile(args[0]!, name);
    return { versions: await (await open()).relay.files.log(space, path) };
  },
  print: ({ versions }, { interactive, style }) =>
    rows(
      style.cyan,
      versions.map(({ version, modified_at, from, size, sha256 }): [string, string] => {
        const when = interactive ? moment(modified_at) : modified_at;
        const figures = interactive ? `${bytes(size)}  ${sha256.slice(0, 12)}` : `${size}  ${sha256}`;
        return [`v${version}`, `${style.dim(`${when}  ${printable(from)}`)}  ${figures}`];
      }),
    ),
});
