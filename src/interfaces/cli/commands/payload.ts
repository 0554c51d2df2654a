import { promises, readFileSync, type Stats, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { streamFrom } from '../../../base/byte-streams.ts';
import { RelayError } from '../../../base/errors.ts';
import { exactBytes } from '../../../base/format.ts';
import type { Json } from '../../../base/json.ts';
import {
  GREP_CONTEXT_LINES,
  INLINE_BLOB_BYTES,
  JSON_BODY_BYTES,
  PAYLOAD_BYTES,
} from '../../../base/limits.ts';
import { decodeUtf8 } from '../../../base/utf8.ts';
import { parseReadable } from '../../../contract/pointer-url.ts';
import type { Part, PartRequest } from '../../../contract/pointers.ts';
import type { ContextRelay } from '../../../sdk/context-relay.ts';
import { collect } from '../../../sdk/payload.ts';
import { badUsage, type Flags, type FlagValues, type Invocation, refusal } from '../command.ts';
import { bytes, parseCount, printable, typedJson } from '../human.ts';
import { type Io, pipedText } from '../io.ts';
import { withProgress } from '../progress.ts';

export type Body = Uint8Array | ReadableStream<Uint8Array>;

/** What a push sends: small files whole, large ones and pipes as a stream. */
export interface PayloadSource {
  readonly body: Body;
  /** Known ahead for a file. */
  readonly size?: number;
  readonly label: string;
}

/** From a file, or from standard input for `-` or when nothing is named and something is piped in. */
export async function openPayload(
  io: Io,
  name: string | undefined,
  o: { limit?: number } = {},
): Promise<PayloadSource> {
  if (name === '') throw badUsage('The name of the file is empty.', 'Name a file, or - for standard input.');
  if (name !== undefined && name !== '-') return fromFile(io, name, o.limit ?? PAYLOAD_BYTES);
  if (name === undefined && io.stdin.isTTY)
    throw badUsage(
      'There is nothing to push: no file was named and nothing is piped in.',
      'Use: relay push FILE, or: some-command | relay push',
    );
  if (io.stdin.isTTY) io.note('Type or paste; end with Ctrl-D on a line of its own.');
  const chunks: AsyncIterator<Uint8Array> = io.stdin.stream[Symbol.asyncIterator]();
  const first = await chunks.next();
  if (first.done) throw emptyInput();
  return { body: streamFrom(begunWith(first.value, chunks)), label: 'standard input' };
}

/** Nothing at all is a mistake of whatever stands before the pipe. */
export function emptyInput(): RelayError {
  return badUsage('Standard input is empty.', 'See that what stands before the pipe prints something.');
}

async function* begunWith<T>(first: T, rest: AsyncIterator<T>): AsyncGenerator<T> {
  yield first;
  yield* { [Symbol.asyncIterator]: () => rest };
}

async function fromFile(io: Io, name: string, limit: number): Promise<PayloadSource> {
  const path = resolve(io.cwd, name);
  const label = basename(path);
  const short = shortFile(name, path);
  if (short) return { body: short, size: short.byteLength, label };
  const file = await promises.open(path, 'r').catch((error) => {
    throw unreadable(name, error);
  });
  try {
    const stat = await file.stat();
    if (!stat.isFile()) return { body: streamFrom(file.createReadStream()), label };
    const { size } = stat;
    if (size > limit)
      throw new RelayError('too_large', { what: `${name}, with its ${exactBytes(size)},`, limit });
    // Both the stream's end and whoever cancels it close the file.
    return { body: streamFrom(file.createReadStream({ end: size - 1 })), size, label };
  } catch (error) {
    // The first error is the one to tell.
    await file.close().catch(() => {});
    throw error;
  }
}

/** A short file is read at once, sooner than what would read it behind our back is loaded. Null for a long one, a pipe, a device. */
function shortFile(name: string, path: string): Uint8Array | null {
  let stat: Stats;
  try {
    stat = statSync(path);
    if (stat.isFile() && stat.size <= INLINE_BLOB_BYTES) return readFileSync(path);
  } catch (error) {
    throw unreadable(name, error as NodeJS.ErrnoException);
  }
  if (!stat.isDirectory()) return null;
  throw badUsage(`${name} is a folder.`, `Pack it into one file first: tar cz ${name} | relay push`);
}

function unreadable(name: string, { code }: NodeJS.ErrnoException): RelayError {
  const why: { [code: string]: string } = {
    ENOENT: 'there is no such file',
    EACCES: 'you may not read it',
    ENOTDIR: 'a part of its path is not a folder',
    ELOOP: 'its links go in circles',
  };
  return new RelayError('failed', {
    what: `${name} cannot be read: ${why[code ?? ''] ?? code}.`,
    hint:
      code === 'ENOENT' && /\s/.test(name)
        ? 'Check the name; words themselves are piped in: echo "…" | relay push'
        : 'Check the name; use - for standard input.',
  });
}

/** Writes a payload to standard output, or into a file that is complete or not there. `about` is told beside it with --json. */
export async function writePayload(
  io: Io,
  body: Body,
  o: { out?: string; force?: boolean; size?: number; about?: object },
): Promise<undefined> {
  if (o.out !== undefined && o.out !== '-') return toFile(io, body, o.out, o);
  const watched = io.interactive ? body : withProgress(io, body, { label: 'pull', size: o.size });
  const out = (o.force ? io.stdout.raw : null) ?? io.stdout;
  let first = true;
  let last = 0;
  for await (const chunk of chunksOf(watched)) {
    if (first && io.interactive && !o.force && !isText(chunk)) throw notForTerminals();
    first = false;
    last = chunk.at(-1) ?? last;
    // What came whole is written at once; a Node stream would take longer to make than to use.
    if (body instanceof Uint8Array) out.write(chunk);
    else await out.send(chunk);
  }
  // The prompt of the shell begins on a line of its own; a pipe gets the bytes and nothing else.
  if (io.interactive && last !== LINE_FEED && !first) io.stdout.write('\n');
}

const LINE_FEED = 0x0a;

/** Enough to tell text from bytes that would upset a terminal. */
const LOOK_BYTES = 8192;

function isText(chunk: Uint8Array): boolean {
  const look = chunk.subarray(0, LOOK_BYTES);
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(look, { stream: chunk.byteLength > LOOK_BYTES });
    return !look.includes(0);
  } catch {
    return false;
  }
}

export function notForTerminals(): RelayError {
  return badUsage(
    'This payload is not text and would upset the terminal.',
    'Write it to a file with --out FILE, pipe it on, or insist with --force.',
  );
}

async function toFile(
  io: Io,
  body: Body,
  name: string,
  { size, about }: { size?: number; about?: object },
): Promise<undefined> {
  const target = resolve(io.cwd, name);
  const { open, realpath, rename, rm, stat } = promises;
  const path = await realpath(target).catch(() => target);
  const there = await stat(path).catch(() => null);
  if (there?.isDirectory())
    throw badUsage(`${name} is a folder.`, `Name a file in it: --out ${join(name, 'FILE')}`);
  // A device or a pipe cannot be replaced; it takes the bytes as they come.
  const direct = there !== null && !there.isFile();
  const draft = direct ? path : join(dirname(path), `.${basename(path)}.${process.pid}.part`);
  const file = await open(draft, direct ? 'w' : 'wx').catch((error) => {
    throw unwritable(name, error);
  });
  let written = 0;
  try {
    if (there && !direct) await file.chmod(there.mode & 0o777);
    for await (const chunk of chunksOf(withProgress(io, body, { label: basename(path), size }))) {
      await file.writeFile(chunk);
      written += chunk.byteLength;
    }
    await file.close();
    if (!direct) await rename(draft, path);
  } catch (error) {
    // The first error is the one to tell; the file may be closed already.
    await file.close().catch(() => {});
    if (!direct) await rm(draft, { force: true });
    throw error;
  }
  io.result({ out: path, size: written, ...about }, io.interactive ? `wrote ${name}, ${bytes(written)}` : '');
}

function unwritable(name: string, { code }: NodeJS.ErrnoException): RelayError {
  const why: { [code: string]: string } = {
    ENOENT: 'there is no such folder',
    EACCES: 'you may not write there',
  };
  return refusal(
    'failed',
    `${name} cannot be written: ${why[code ?? ''] ?? code}.`,
    'Choose another place for --out.',
  );
}

function chunksOf(body: Body): Iterable<Uint8Array> | AsyncIterable<Uint8Array> {
  return body instanceof Uint8Array ? [body] : body;
}

/** A whole payload as text, up to a limit. */
export async function readAllText(body: Body, limit: number): Promise<string> {
  const text = decodeUtf8(await collect(body, { bytes: limit, what: 'the text' }));
  if (text !== null) return text;
  throw badUsage('That is not text.', 'Push it, and send the pointer.');
}

/** A text that is either in the words or in a file; `-` for standard input. Undefined where neither is given. */
export async function textOrFile(
  io: Io,
  what: string,
  text: string | undefined,
  file: string | undefined,
): Promise<string | undefined> {
  if (text !== undefined && file !== undefined)
    throw badUsage(`The ${what} is either in the words or in the file.`, 'Leave one out.');
  if (file === undefined && text !== '-') return text;
  return readAllText((await openPayload(io, file ?? '-')).body, PAYLOAD_BYTES);
}

/** JSON from `--json '…'`, from a file, or with `-` for either from standard input. */
export async function jsonInput(
  io: Io,
  command: string,
  o: { readonly flag?: string; readonly file?: string },
): Promise<Json | undefined> {
  if (o.flag !== undefined && o.file !== undefined)
    throw badUsage(
      `--json and ${o.file} do not go together.`,
      `Use: relay ${command} --json '…', or: relay ${command} FILE`,
    );
  if (o.flag !== undefined && o.flag !== '-') return parseInput(o.flag, '--json');
  const name = o.flag ?? o.file;
  if (name === undefined) return undefined;
  const { body, label } = await openPayload(io, name, { limit: JSON_BODY_BYTES });
  const input = await collect(body, { bytes: JSON_BODY_BYTES, what: label });
  return parseInput(new TextDecoder().decode(input), label);
}

function parseInput(text: string, label: string): Json {
  return typedJson(text, (reason) =>
    badUsage(
      `${label} is not valid JSON: ${reason.replace(/\.?$/, '.')}`,
      'In a shell, single quotes around it keep the double quotes inside.',
    ),
  );
}

/** A part of a payload or an artifact instead of the whole. */
export const PART_FLAGS = {
  lines: { value: 'A-B', help: 'only these lines: 10-40, 10-, 7, or -20 for the last 20' },
  grep: { value: 'PATTERN', help: 'only lines that match (RE2 syntax), with their numbers' },
  context: { short: 'C', value: 'N', help: 'with --grep: lines around each match' },
  'ignore-case': { short: 'i', help: 'with --grep: upper and lower case alike' },
  'json-pointer': {
    value: '/a/b',
    mayBeEmpty: true,
    help: 'only this place of a JSON payload (RFC 6901)',
  },
  outline: { help: 'only headings, definitions or the shape, with line numbers' },
} as const satisfies Flags;

/** Where a payload goes to. */
export const WRITE_FLAGS = {
  out: { short: 'o', value: 'FILE', help: 'write to this file, whole or not at all' },
  force: { short: 'f', help: 'write binary data even to a terminal' },
} as const satisfies Flags;

/** The part that the flags ask for, of what `command` takes; undefined where the whole is meant. */
export function partOf(flags: FlagValues<typeof PART_FLAGS>, command: string): PartRequest | undefined {
  const given = (['lines', 'grep', 'json-pointer', 'outline'] as const).filter(
    (name) => flags[name] !== undefined,
  );
  if (given.length > 1)
    throw badUsage(`--${given[0]} and --${given[1]} do not go together.`, 'Take one part at a time.');
  if (flags.grep === undefined && (flags.context !== undefined || flags['ignore-case']))
    throw badUsage('--context and --ignore-case need --grep.', `Use: ${command} --grep PATTERN -C 2`);
  if (flags.lines !== undefined) return { lines: flags.lines };
  if (flags.grep !== undefined) {
    const context = parseCount(flags.context, '--context', { max: GREP_CONTEXT_LINES });
    return { grep: flags.grep, context, ignore_case: flags['ignore-case'] };
  }
  if (flags['json-pointer'] !== undefined) return { json: flags['json-pointer'] };
  return flags.outline ? { outline: true } : undefined;
}

/** A part is lines of text, and lines end. */
export async function writePart(
  io: Io,
  part: Part,
  flags: FlagValues<typeof PART_FLAGS> & { readonly out?: string; readonly force?: boolean },
): Promise<undefined> {
  if (part.truncated) io.warn(part.about);
  else if (io.interactive && !io.json && !flags.outline) io.note(part.about);
  const { text } = part;
  if (io.json && flags.out === undefined) io.result(part, '');
  else
    await writePayload(
      io,
      new TextEncoder().encode(text === '' || text.endsWith('\n') ? text : `${text}\n`),
      flags,
    );
}

/** Opens the relay for the pointer that a command is about: its first word. */
export async function openPointer({ io, args, open }: Invocation) {
  const pointer = await pointerArgument(io, args[0]!);
  const opened = await open();
  return { client: await opened.client(), remote: opened.remote, url: await opened.resolve(pointer) };
}

/** A pointer from the command line, or with `-` from standard input: `relay push f | relay pull -`. */
export async function pointerArgument(io: Io, word: string): Promise<string> {
  const text = word === '-' ? await firstLine(io) : word;
  parseReadable(text);
  return text.trim();
}

async function firstLine(io: Io): Promise<string> {
  const text = await pipedText(io, (given) => /\S\s*\n/.test(given) || given.length > POINTER_CHARS);
  const line = text.trim().split('\n')[0]!.slice(0, POINTER_CHARS);
  if (line) return line;
  throw badUsage('No pointer came from standard input.', 'Use: relay push FILE | relay pull -');
}

const POINTER_CHARS = 4096;

/** Says what of an encrypted push others can read all the same, and who cannot read the rest. */
export async function warnOfEncryption(
  io: Io,
  client: ContextRelay,
  { metadata = {}, channel }: { readonly metadata?: object; readonly channel?: string },
): Promise<void> {
  const names = Object.keys(metadata);
  if (names.length > 0)
    io.warn(`metadata is never encrypted: everybody can read ${names.map(printable).join(', ')}.`);
  if (channel === undefined || (await client.hasChannelKey(channel))) return;
  const name = printable(channel);
  io.warn(`there is no key for the channel ${name}: its subscribers cannot read what is encrypted.`);
  io.note(`  → relay channel key new ${name}, and for them: relay channel key add ${name}`);
}
