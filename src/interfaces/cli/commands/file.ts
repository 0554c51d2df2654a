import { isJsonObject, type JsonObject } from '../../../base/json.ts';
import {
  FILE_VERSIONS,
  FILE_VERSIONS_MAX,
  PAGE_ITEMS,
  PAGE_ITEMS_MAX,
  PAYLOAD_BYTES,
} from '../../../base/limits.ts';
import type { FileInfo } from '../../../contract/files.ts';
import { answerCommand, badUsage, defineCommand } from '../command.ts';
import {
  bytes,
  columns,
  expiry,
  labelled,
  listFlags,
  moment,
  parseCount,
  parseMost,
  parseSpan,
  plural,
  printable,
  type Row,
  rows,
  tokensInWords,
  typedJson,
  when,
} from '../human.ts';
import {
  notForTerminals,
  openPayload,
  PART_FLAGS,
  partOf,
  WRITE_FLAGS,
  writePart,
  writePayload,
} from '../payload.ts';
import { withProgress } from '../progress.ts';
import { agrees, FORCE_FLAG, removeEach } from '../removal.ts';

/**
 * Splits `notes/src/main.ts` into the space `notes` and the path `src/main.ts`. The path is empty if the argument
 * names only a space.
 */
function fileArgument(text: string) {
  const slash = text.indexOf('/');
  if (slash < 0) return { space: text, path: '' };
  return { space: text.slice(0, slash), path: text.slice(slash + 1) };
}

/** Like `fileArgument`, but throws if the argument names only a space. */
function requireFile(text: string, name: string) {
  const file = fileArgument(text);
  if (file.path !== '') return file;
  throw badUsage(`"${text}" is a space, not a file.`, `Use: ${name} SPACE/PATH, such as notes/plan.md`);
}

const put = answerCommand({
  usage: '<file|-> <space/path>',
  details: `Writes up to ${bytes(PAYLOAD_BYTES)}. The previous content stays readable as an earlier version. If the target ends with a slash,
the name of the source file is added. In a pipe it prints the space and path.`,
  flags: {
    type: { value: 'TYPE', help: 'media type' },
    metadata: { short: 'm', value: 'JSON', help: 'JSON object to store with the file' },
    ttl: { value: 'TIME', help: 'delete the file after this time, such as 2h or 7d (never)' },
    keep: {
      value: 'N',
      help: `number of earlier versions to keep, 0 to ${FILE_VERSIONS_MAX} (default: ${FILE_VERSIONS} for a new file, unchanged for an existing file)`,
    },
    'if-match': { value: 'v3', help: 'fail if the file is at another version' },
    new: { help: 'fail if the file exists' },
  },
  examples: `
    relay file put plan.md notes/  # write notes/plan.md
    relay file put main.ts code/src/main.ts --if-match v3  # replace version 3 only
    date | relay file put - notes/last-run --keep 0  # write standard input, keep no old versions`,
  async ask({ io, args, flags, open }) {
    const target = fileArgument(args[1]!);
    const source = await openPayload(io, args[0]);
    const folder = target.path === '' || target.path.endsWith('/');
    if (folder && args[0] === '-')
      throw badUsage('Standard input has no file name.', 'Name the file: relay file put - SPACE/PATH');
    const { relay } = await open();
    return relay.files.put(target.space, folder ? target.path + source.label : target.path, {
      body: withProgress(io, source.body, source),
      size: source.size,
      content_type: flags.type,
      metadata: flags.metadata === undefined ? undefined : metadataOf(flags.metadata),
      ttl: parseSpan(flags.ttl, '--ttl'),
      keep: parseCount(flags.keep, '--keep', { max: FILE_VERSIONS_MAX }),
      if_match: flags['if-match'],
      if_none_match: flags.new ? '*' : undefined,
    });
  },
  print({ space, path, version, size, expires_at }, io) {
    const ends = expires_at === null ? [] : [`expires ${expiry(expires_at)}`];
    return labelled(io, 'file', `${space}/${path}`, [`v${version}`, bytes(size), ...ends]);
  },
});

function metadataOf(text: string): JsonObject {
  const wrong = (reason: string) =>
    badUsage(`--metadata is not a JSON object: ${reason}.`, `Use: --metadata '{"author":"ada"}'`);
  const metadata = typedJson(text, wrong);
  if (isJsonObject(metadata)) return metadata;
  throw wrong('it is another JSON value');
}

const get = defineCommand({
  usage: '<space/path>',
  details: `Writes the bytes to standard output unchanged. To save tokens, look at --outline first, then get only the lines
you need. --json prints everything except the content: version, size, hash, type and metadata.`,
  flags: {
    ...PART_FLAGS,
    version: { value: 'N', help: 'read an earlier version; relay file log lists them' },
    cost: { help: 'only count the tokens' },
    ...WRITE_FLAGS,
  },
  examples: `
    relay file get notes/plan.md  # print the file
    relay file get notes/plan.md --version 3 --out old.md  # write version 3 to a file
    relay file get code/src/main.ts --grep "TODO" -C 2  # print matching lines with two lines around each`,
  async run({ io, args, flags, name, open }) {
    const part = partOf(flags, `${name} <space/path>`);
    const { space, path } = requireFile(args[0]!, name);
    const version = parseCount(flags.version?.replace(/^v/, ''), '--version');
    const { files } = (await open()).relay;
    if (flags.cost) {
      const cost = await files.cost(space, path, part, { version });
      return io.result(cost, `${tokensInWords(cost)}, ${bytes(cost.bytes)}`);
    }
    if (part) return writePart(io, await files.part(space, path, part, { version }), flags);
    if (io.json && flags.out === undefined) return io.result(await files.info(space, path, { version }), '');
    const { file, body } = await files.get(space, path, { version });
    if (!file.text && io.interactive && !flags.force && flags.out === undefined) {
      if (!(body instanceof Uint8Array)) await body.cancel();
      throw notForTerminals();
    }
    await writePayload(io, body, { ...flags, size: file.size });
  },
});

const ls = answerCommand({
  usage: '[space[/prefix]]',
  details: `Without an argument it lists the spaces. Without --recursive it shows each subfolder as one line. In a pipe each line
has version, bytes and path of a file.`,
  flags: {
    recursive: { short: 'r', help: 'also list files in subfolders' },
    ...listFlags(PAGE_ITEMS),
  },
  examples: `
    relay file ls  # list the spaces
    relay file ls notes  # list the files of a space
    relay file ls code/src/ --recursive --all  # list all files below a folder`,
  async ask({ args, flags, open }) {
    const most = parseMost(flags, PAGE_ITEMS);
    const { files } = (await open()).relay;
    const spaces: string[] = [];
    const folders: string[] = [];
    const matches: FileInfo[] = [];
    const { space, path: prefix } = fileArgument(args[0] ?? '');
    const delimiter = flags.recursive ? undefined : ('/' as const);
    let left = most;
    let after: string | undefined;
    do {
      const o = { after, limit: Math.min(PAGE_ITEMS_MAX, left) };
      if (space === '') {
        const page = await files.spaces(o);
        spaces.push(...page.spaces.map((one) => one.space));
        after = page.next;
      } else {
        const page = await files.list(space, { prefix, delimiter, ...o });
        matches.push(...page.files);
        folders.push(...(page.prefixes ?? []));
        after = page.next;
      }
      left = most - spaces.length - folders.length - matches.length;
    } while (after !== undefined && left > 0);
    return { spaces, folders, files: matches, ...(after === undefined ? {} : { more: true }) };
  },
  print({ spaces, folders, files, more }, { interactive, style, typed }) {
    if (spaces.length + folders.length + files.length === 0)
      return interactive
        ? style.dim(typed('There are no files. Write one with: relay file put FILE SPACE/'))
        : '';
    const formatSize = interactive ? bytes : String;
    const figures = columns(
      files.map(({ version, size }) => [`v${version}`, formatSize(size)]),
      [1],
    );
    const lines = [
      ...spaces.map((space) => style.cyan(`${space}/`)),
      ...folders.map((folder) => style.cyan(printable(folder))),
      ...files.map(({ path, modified_at }, i) => {
        const changed = interactive ? `  ${style.dim(moment(modified_at))}` : '';
        return `${figures[i]}  ${printable(path)}${changed}`;
      }),
    ];
    if (more && interactive) lines.push(style.dim('There are more files. List all with --all.'));
    return lines.join('\n');
  },
});

const log = answerCommand({
  usage: '<space/path>',
  details:
    'Shows time, author, size and hash of each version. Use relay file get SPACE/PATH --version 3 to read one.',
  examples: `
    relay file log notes/plan.md  # list the versions
    relay file log notes/plan.md --json  # print all details as JSON`,
  async ask({ args, name, open }) {
    const { space, path } = requireFile(args[0]!, name);
    return { versions: await (await open()).relay.files.log(space, path) };
  },
  print(answer, io) {
    const versions = answer.versions.map(({ version, modified_at, from, size, sha256 }): Row => {
      const figures = io.interactive ? `${bytes(size)}  ${sha256.slice(0, 12)}` : `${size}  ${sha256}`;
      return [`v${version}`, `${io.style.dim(`${when(io, modified_at)}  ${printable(from)}`)}  ${figures}`];
    });
    return rows(io.style.cyan, versions);
  },
});

const rm = defineCommand({
  usage: '<space/path…>',
  details: `Deletes files and all their versions permanently. With --recursive it deletes every file whose path starts with the
argument: notes/drafts/ deletes a folder, notes/ the whole space. At a terminal --recursive asks for confirmation.`,
  takes: { min: 1, max: 1000 },
  flags: {
    recursive: {
      short: 'r',
      help: 'delete every file whose path starts with the argument; end it with / to delete only a folder',
    },
    'if-match': { value: 'v3', help: 'fail if the file is at another version; not with --recursive' },
    ...FORCE_FLAG,
  },
  examples: `
    relay file rm notes/plan.md  # delete one file
    relay file rm notes/plan.md --if-match v3  # delete only if it is still at version 3
    relay file rm notes/drafts/ --recursive  # delete a folder`,
  async run({ io, args, flags, name, open }) {
    const { recursive } = flags;
    if (recursive && flags['if-match'] !== undefined)
      throw badUsage('--recursive and --if-match cannot be used together.', 'Delete the files one by one.');
    const found = args.map((arg) => (recursive ? fileArgument(arg) : requireFile(arg, name)));
    const question = () => `Delete everything below ${args.join(', ')} permanently?`;
    if (recursive && !(await agrees(io, flags, question))) return;
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

export const commands = { put, get, ls, log, rm };
