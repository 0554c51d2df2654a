import { PAGE_ITEMS, PAGE_ITEMS_MAX } from '../../../base/limits.ts';
import type { FileInfo } from '../../../contract/files.ts';
import { answerCommand } from '../command.ts';
import { bytes, moment, parseMost, printable } from '../human.ts';
import { fileArgument } from './file-argument.ts';

interface Listed {
  readonly spaces: string[];
  readonly folders: string[];
  readonly files: FileInfo[];
  readonly more?: true;
}

export default answerCommand({
  usage: '[space[/prefix]]',
  details: `Without a space, the spaces there are. What lies deeper is shown by its folder, without --recursive. Piped: version,
bytes and path of each file.`,
  flags: {
    recursive: { short: 'r', help: 'files in folders too' },
    count: { short: 'n', value: 'N', help: `so many at most (${PAGE_ITEMS})` },
    all: { help: 'every one' },
  },
  examples: [
    ['relay file ls', 'the spaces'],
    ['relay file ls notes', 'what is in one'],
    ['relay file ls code/src/ --recursive --all', 'everything below a folder'],
  ],
  async ask({ args, flags, open }) {
    const most = parseMost(flags, PAGE_ITEMS);
    const { files } = (await open()).relay;
    const found: Listed = { spaces: [], folders: [], files: [] };
    const { space, path: prefix } = fileArgument(args[0] ?? '');
    const delimiter = flags.recursive ? undefined : ('/' as const);
    for (let after: string | undefined; ; ) {
      const left = most - found.spaces.length - found.folders.length - found.files.length;
      const o = { after, limit: Math.min(PAGE_ITEMS_MAX, left) };
      if (space === '') {
        const page = await files.spaces(o);
        found.spaces.push(...page.spaces.map((one) => one.space));
        after = page.next;
      } else {
        const page = await files.list(space, { prefix, delimiter, ...o });
        found.files.push(...page.files);
        found.folders.push(...(page.prefixes ?? []));
        after = page.next;
      }
      const count = found.spaces.length + found.folders.length + found.files.length;
      if (after === undefined) return found;
      if (count >= most) return { ...found, more: true };
    }
  },
  print({ spaces, folders, files, more }, { interactive, style, typed }) {
    if (spaces.length + folders.length + files.length === 0)
      return interactive ? style.dim(typed('None yet. Store one with: relay file put FILE SPACE/')) : '';
    const cells = files.map((file) => [
      `v${file.version}`,
      interactive ? bytes(file.size) : String(file.size),
    ]);
    const widths = [0, 1].map((i) => Math.max(0, ...cells.map((row) => row[i]!.length)));
    const lines = [
      ...spaces.map((space) => style.cyan(`${space}/`)),
      ...folders.map((folder) => style.cyan(printable(folder))),
      ...files.map(({ path, modified_at }, i) => {
        const [version, size] = cells[i]!;
        const figures = `${version!.padEnd(widths[0]!)}  ${size!.padStart(widths[1]!)}`;
        const when = interactive ? `  ${style.dim(moment(modified_at))}` : '';
        return `${figures}  ${printable(path)}${when}`;
      }),
    ];
    if (more && interactive) lines.push(style.dim('There are more: say --all'));
    return lines.join('\n');
  },
});
