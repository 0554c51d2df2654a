import { isJsonObject, type JsonObject } from '../../../base/json.ts';
import { FILE_VERSIONS, FILE_VERSIONS_MAX, PAGE_ITEMS, PAGE_ITEMS_MAX } from '../../../base/limits.ts';
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
import { withProgress } from '../progress.ts';
import { agrees, FORCE_FLAG, removeEach } from '../removal.ts';
import {
  notForTerminals,
  openPayload,
  PART_FLAGS,
  partOf,
  WRITE_FLAGS,
  writePart,
  writePayload,
} from './payload.ts';

interface FileArgument {
  readonly space: string;
  /** Empty where the space alone was named. */
  readonly path: string;
}

/** `notes/src/main.ts`: the space, and the path in it. */
function fileArgument(text: string): FileArgument {
  const slash = text.indexOf('/');
  if (slash < 0) return { space: text, path: '' };
  return { space: text.slice(0, slash), path: text.slice(slash + 1) };
}

/** The same where a file must be named. */
function oneFile(text: string, name: string): FileArgument {
  const file = fileArgument(text);
  if (file.path !== '') return file;
  throw badUsage(
    `"${text}" is a space, and not a file in it.`,
    `Use: ${name} SPACE/PATH, such as notes/plan.md`,
  );
}

const put = answerCommand({
  usage: '<file|-> <space/path>',
  details: `Up to 25 MiB. What was there before stays readable as an earlier version. Behind a slash the name of the file is taken.
Piped, the path with its space is printed.`,
  flags: {
    type: { value: 'TYPE', help: 'its media type' },
    metadata: { short: 'm', value: 'JSON', help: 'an object that goes with it, for everybody to read' },
    ttl: { value: 'TIME', help: 'how long it lives: 90s, 2h, 7d (until it is deleted)' },
    keep: {
      value: 'N',
      help: `earlier versions to keep, 0 to ${FILE_VERSIONS_MAX} (${FILE_VERSIONS}, or as before)`,
    },
    'if-match': { value: 'v3', help: 'only where the file is at this version' },
    new: { help: 'only where there is no such file yet' },
  },
  examples: `
    relay file put plan.md notes/  # as notes/plan.md
    relay file put main.ts code/src/main.ts --if-match v3  # only over version 3
    date | relay file put - notes/last-run --keep 0  # from a pipe, without a history`,
  async ask({ io, args, flags, open }) {
    const target = fileArgument(args[1]!);
    const source = await openPayload(io, args[0]);
    const folder = target.path === '' || target.path.endsWith('/');
    if (folder && args[0] === '-')
      throw badUsage('What comes from a pipe has no name.', 'Name the file: relay file put - SPACE/PATH');
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
    badUsage(`--metadata is no JSON object: ${reason}.`, `Use: --metadata '{"author":"ada"}'`);
  const metadata = typedJson(text, wrong);
  if (isJsonObject(metadata)) return metadata;
  throw wrong('it is something else');
}

const get = defineCommand({
  usage: '<space/path>',
  details: `The bytes go to standard output as they are. A part costs a model only its own tokens: look at --outline
first, then take the lines you need. With --json everything but the content is: version, size, hash, type, metadata.`,
  flags: {
    ...PART_FLAGS,
    version: { value: 'N', help: 'an earlier version, as relay file log has it' },
    cost: { help: 'only what it would cost, in tokens' },
    ...WRITE_FLAGS,
  },
  examples: `
    relay file get notes/plan.md  # to standard output
    relay file get notes/plan.md --version 3 --out old.md  # as it was, into a file
    relay file get code/src/main.ts --grep "TODO" -C 2  # matching lines, each with two around it`,
  async run({ io, args, flags, name, open }) {
    const part = partOf(flags, `${name} <space/path>`);
    const { space, path } = oneFile(args[0]!, name);
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

interface Listed {
  readonly spaces: string[];
  readonly folders: string[];
  readonly files: FileInfo[];
  readonly more?: true;
}

const ls = answerCommand({
  usage: '[space[/prefix]]',
  details: `Without a space, the spaces there are. What lies deeper is shown by its folder, without --recursive. Piped: version,
bytes and path of each file.`,
  flags: {
    recursive: { short: 'r', help: 'files in folders too' },
    ...listFlags(PAGE_ITEMS),
  },
  examples: `
    relay file ls  # the spaces
    relay file ls notes  # what is in one
    relay file ls code/src/ --recursive --all  # everything below a folder`,
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
    const shownSize = interactive ? bytes : String;
    const figures = columns(
      files.map(({ version, size }) => [`v${version}`, shownSize(size)]),
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
    if (more && interactive) lines.push(style.dim('There are more: say --all'));
    return lines.join('\n');
  },
});

const log = answerCommand({
  usage: '<space/path>',
  details:
    'Each with when, by whom, how large and its hash. relay file get SPACE/PATH --version 3 reads one of them.',
  examples: `
    relay file log notes/plan.md  # newest first
    relay file log notes/plan.md --json  # with all that is known of each`,
  async ask({ args, name, open }) {
    const { space, path } = oneFile(args[0]!, name);
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
  details: `A file is gone for good, with all its versions. With --recursive everything whose path begins so: notes/drafts/ is a folder,
and notes/ the whole space. At a terminal that asks first.`,
  takes: { min: 1, max: 1000 },
  flags: {
    recursive: { short: 'r', help: 'everything below' },
    'if-match': { value: 'v3', help: 'only where the file is at this version' },
    ...FORCE_FLAG,
  },
  examples: `
    relay file rm notes/plan.md  # delete one
    relay file rm notes/plan.md --if-match v3  # unless somebody has changed it
    relay file rm notes/drafts/ --recursive  # a folder with all that is in it`,
  async run({ io, args, flags, name, open }) {
    const { recursive } = flags;
    if (recursive && flags['if-match'] !== undefined)
      throw badUsage('--recursive and --if-match do not go together.', 'Delete the files one by one.');
    const found = args.map((arg) => (recursive ? fileArgument(arg) : oneFile(arg, name)));
    const question = () => `Delete everything below ${args.join(', ')} for good?`;
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
