import fs, { readFileSync, type Stats, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { streamFrom } from '../../base/byte-streams.ts';
import { RelayError } from '../../base/errors.ts';
import { exactBytes } from '../../base/format.ts';
import type { Json } from '../../base/json.ts';
import { GREP_CONTEXT_LINES, INLINE_BLOB_BYTES, JSON_BODY_BYTES, PAYLOAD_BYTES } from '../../base/limits.ts';
import { decodeUtf8 } from '../../base/utf8.ts';
import { parseReadable } from '../../contract/pointer-url.ts';
import type { Part, PartRequest } from '../../contract/pointers.ts';
import type { ContextRelay } from '../../sdk/context-relay.ts';
import { collect } from '../../sdk/payload.ts';
import {
  badUsage,
  type Flags,
  type FlagValues,
  type Invocation,
  refusal,
  rejectTogether,
} from './command.ts';
import { bytes, parseCount, printable, typedJson } from './human.ts';
import { type Io, pipedText } from './io.ts';
import { withProgress } from './progress.ts';

export type Body = Uint8Array | ReadableStream<Uint8Array>;

/** Payload of a push: bytes for a small file, a stream for a large file or a pipe. */
export interface PayloadSource {
  readonly body: Body;
  /** Size in bytes. Set only for regular files. */
  readonly size?: number;
  readonly label: string;
}

/** Opens a file, or standard input if `name` is `-` or missing. */
export async function openPayload(
  io: Io,
  name: string | undefined,
  o: { limit?: number } = {},
): Promise<PayloadSource> {
  if (name === '') throw badUsage('The name of the file is empty.', 'Name a file, or - for standard input.');
  if (name !== undefined && name !== '-') return fromFile(io, name, o.limit ?? PAYLOAD_BYTES);
  if (name === undefined && io.stdin.isTTY)
    throw badUsage(
      'There is nothing to push: you named no file and standard input is a terminal.',
      'Use: relay push FILE, or: some-command | relay push',
    );
  if (io.stdin.isTTY) io.note('Type or paste the text. End with Ctrl-D on an empty line.');
  const chunks: AsyncIterator<Uint8Array> = io.stdin.stream[Symbol.asyncIterator]();
  const first = await chunks.next();
  if (first.done) throw emptyInput();
  return { body: streamFrom(prepend(first.value, chunks)), label: 'standard input' };
}

/** Creates the error for empty standard input. The usual cause is that the command before the pipe failed. */
export function emptyInput(): RelayError {
  return badUsage('Standard input is empty.', 'Check that the command before the pipe prints something.');
}

async function* prepend<T>(first: T, rest: AsyncIterator<T>): AsyncGenerator<T> {
  yield first;
  yield* { [Symbol.asyncIterator]: () => rest };
}

async function fromFile(io: Io, name: string, limit: number): Promise<PayloadSource> {
  const path = resolve(io.cwd, name);
  const label = basename(path);
  const short = shortFile(name, path);
  if (short) return { body: short, size: short.byteLength, label };
  const file = await fs.promises.open(path, 'r').catch((error) => {
    throw unreadable(name, error);
  });
  try {
    const stat = await file.stat();
    if (!stat.isFile()) return { body: streamFrom(file.createReadStream()), label };
    const { size } = stat;
    if (size > limit)
      throw new RelayError('too_large', {
        message: `Too large: ${name} has ${exactBytes(size)}; the limit is ${exactBytes(limit)}.`,
      });
    // The read stream closes the file when it ends or is cancelled.
    return { body: streamFrom(file.createReadStream({ end: size - 1 })), size, label };
  } catch (error) {
    // Throw the first error, not a later one of closing the file.
    await file.close().catch(() => {});
    throw error;
  }
}

/**
 * Reads a small file synchronously, which is faster than loading the code for streams. Returns null for large
 * files, pipes and devices.
 */
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

/** Explains the error code of a failed file operation. */
function whyFailed({ code = '' }: NodeJS.ErrnoException, missing: 'file' | 'folder'): string {
  const why: { [code: string]: string } = {
    ENOENT: `there is no such ${missing}`,
    EACCES: 'permission denied',
    ENOTDIR: 'a part of its path is not a folder',
    ELOOP: 'its symbolic links form a loop',
  };
  return why[code] ?? code;
}

function unreadable(name: string, error: NodeJS.ErrnoException): RelayError {
  return refusal(
    'failed',
    `${name} cannot be read: ${whyFailed(error, 'file')}.`,
    error.code === 'ENOENT' && /\s/.test(name)
      ? 'Check the file name. To push a text, use: echo "…" | relay push'
      : 'Check the file name, or use - for standard input.',
  );
}

/**
 * Writes a payload to standard output or to a file. An existing file is replaced only when the new content is
 * complete. The fields of `about` are added to the --json output.
 */
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
    // Write bytes in memory directly. Creating a Node stream would take longer than the write.
    if (body instanceof Uint8Array) out.write(chunk);
    else await out.send(chunk);
  }
  // At a terminal, end with a newline, so that the prompt of the shell starts on a new line. In a pipe, write
  // nothing but the bytes of the payload.
  if (io.interactive && last !== LINE_FEED && !first) io.stdout.write('\n');
}

const LINE_FEED = 0x0a;

/** Number of bytes that are checked to distinguish text from binary data. */
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

/** Creates the error for binary data that would go to a terminal. */
export function notForTerminals(): RelayError {
  return badUsage(
    'This payload is binary and is not printed to a terminal.',
    'Write it to a file with --out FILE, pipe it to another command, or print it with --force.',
  );
}

async function toFile(
  io: Io,
  body: Body,
  name: string,
  { size, about }: { size?: number; about?: object },
): Promise<undefined> {
  const target = resolve(io.cwd, name);
  const { open, realpath, rename, rm, stat } = fs.promises;
  const path = await realpath(target).catch(() => target);
  const existing = await stat(path).catch(() => null);
  if (existing?.isDirectory())
    throw badUsage(`${name} is a folder.`, `Name a file in it: --out ${join(name, 'FILE')}`);
  // A rename cannot replace a device or a pipe, so write to it directly.
  const direct = existing !== null && !existing.isFile();
  const draft = direct ? path : join(dirname(path), `.${basename(path)}.${process.pid}.part`);
  const file = await open(draft, direct ? 'w' : 'wx').catch((error) => {
    throw unwritable(name, error);
  });
  let written = 0;
  try {
    if (existing && !direct) await file.chmod(existing.mode & 0o777);
    for await (const chunk of chunksOf(withProgress(io, body, { label: basename(path), size }))) {
      await file.writeFile(chunk);
      written += chunk.byteLength;
    }
    await file.close();
    if (!direct) await rename(draft, path);
  } catch (error) {
    // Throw the first error. Closing fails too if the file is already closed.
    await file.close().catch(() => {});
    if (!direct) await rm(draft, { force: true });
    throw error;
  }
  io.result({ out: path, size: written, ...about }, io.interactive ? `wrote ${name}, ${bytes(written)}` : '');
}

function unwritable(name: string, error: NodeJS.ErrnoException): RelayError {
  const what = `${name} cannot be written: ${whyFailed(error, 'folder')}.`;
  return refusal('failed', what, 'Choose another path for --out.');
}

function chunksOf(body: Body): Iterable<Uint8Array> | AsyncIterable<Uint8Array> {
  return body instanceof Uint8Array ? [body] : body;
}

/** Reads a whole payload as text, up to `limit` bytes. */
export async function readAllText(body: Body, limit: number): Promise<string> {
  const text = decodeUtf8(await collect(body, { bytes: limit, what: 'the text' }));
  if (text !== null) return text;
  throw badUsage('The content is not text.', 'Push it with relay push and send the pointer.');
}

/**
 * Returns the text argument, or reads the text from a file or from standard input (`-`). Returns undefined if
 * no text and no file is given.
 */
export async function textOrFile(
  io: Io,
  what: string,
  text: string | undefined,
  file: string | undefined,
): Promise<string | undefined> {
  if (text !== undefined && file !== undefined)
    throw badUsage(`The ${what} is given twice: as an argument and as a file.`, 'Remove one of them.');
  if (file === undefined && text !== '-') return text;
  return readAllText((await openPayload(io, file ?? '-')).body, PAYLOAD_BYTES);
}

/** Reads JSON from `--json '…'` or from a file. `-` means standard input. */
export async function jsonInput(
  io: Io,
  command: string,
  o: { readonly flag?: string; readonly file?: string },
): Promise<Json | undefined> {
  if (o.flag !== undefined && o.file !== undefined)
    throw badUsage(
      `--json and the file ${o.file} cannot be used together.`,
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
      'In a shell, put the JSON in single quotes.',
    ),
  );
}

/** Flags that select a part of a payload, an artifact or a file. */
export const PART_FLAGS = {
  lines: { value: 'A-B', help: 'only these lines: 10-40, 10-, 7, or -20 for the last 20' },
  grep: { value: 'PATTERN', help: 'only matching lines, with line numbers (RE2 syntax)' },
  context: { short: 'C', value: 'N', help: 'with --grep: also print N lines around each match' },
  'ignore-case': { short: 'i', help: 'with --grep: ignore upper and lower case' },
  'json-pointer': {
    value: '/a/b',
    mayBeEmpty: true,
    help: 'only this value, if the content is JSON (RFC 6901)',
  },
  outline: { help: 'only headings, definitions or JSON structure, with line numbers' },
  question: { value: 'TEXT', help: 'only lines that probably answer this question, with line numbers' },
} as const satisfies Flags;

/** Flags that say where a payload is written. */
export const WRITE_FLAGS = {
  out: { short: 'o', value: 'FILE', help: 'write to this file; it is never left incomplete' },
  force: { short: 'f', help: 'print binary data even to a terminal' },
} as const satisfies Flags;

/** Returns the part that the flags select, or undefined for the whole payload. Errors suggest `command`. */
export function partOf(flags: FlagValues<typeof PART_FLAGS>, command: string): PartRequest | undefined {
  rejectTogether(flags, 'lines', 'grep', 'json-pointer', 'outline', 'question');
  if (flags.grep === undefined && (flags.context !== undefined || flags['ignore-case']))
    throw badUsage('--context and --ignore-case need --grep.', `Use: ${command} --grep PATTERN -C 2`);
  if (flags.lines !== undefined) return { lines: flags.lines };
  if (flags.grep !== undefined) {
    const context = parseCount(flags.context, '--context', { max: GREP_CONTEXT_LINES });
    return { grep: flags.grep, context, ignore_case: flags['ignore-case'] };
  }
  if (flags['json-pointer'] !== undefined) return { json: flags['json-pointer'] };
  if (flags.question !== undefined) return { question: flags.question };
  return flags.outline ? { outline: true } : undefined;
}

/** Writes a part and ends it with a newline. */
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

/** Opens the relay and reads the pointer in the first argument of a command. */
export async function openPointer({ io, args, open }: Invocation) {
  const pointer = await pointerArgument(io, args[0]!);
  const opened = await open();
  return { client: await opened.client(), remote: opened.remote, url: await opened.resolve(pointer) };
}

/**
 * Returns the pointer argument: a URL, an id, a handle such as `relay:128`, or its number. If the argument is
 * `-`, reads the pointer from standard input: `relay push f | relay pull -`.
 */
export async function pointerArgument(io: Io, word: string): Promise<string> {
  const pointer = (word === '-' ? await firstLine(io) : word).trim();
  const text = /^\d+$/.test(pointer) ? `relay:${pointer}` : pointer;
  parseReadable(text);
  return text;
}

async function firstLine(io: Io): Promise<string> {
  const text = await pipedText(io, (piped) => /\S\s*\n/.test(piped) || piped.length > POINTER_CHARS);
  const line = text.trim().split('\n')[0]!.slice(0, POINTER_CHARS);
  if (line) return line;
  throw badUsage('Standard input contains no pointer.', 'Use: relay push FILE | relay pull -');
}

const POINTER_CHARS = 4096;

/**
 * Warns that metadata is not encrypted. Also warns if this machine has no key of the channel, because
 * subscribers then cannot decrypt the payload.
 */
export async function warnOfEncryption(
  io: Io,
  client: ContextRelay,
  { metadata = {}, channel }: { readonly metadata?: object; readonly channel?: string },
): Promise<void> {
  const names = Object.keys(metadata);
  if (names.length > 0)
    io.warn(`metadata is not encrypted: the relay can read ${names.map(printable).join(', ')}.`);
  if (channel === undefined || (await client.hasChannelKey(channel))) return;
  const name = printable(channel);
  io.warn(`there is no key for the channel ${name}, so its subscribers cannot decrypt the payload.`);
  io.note(`  → Run relay channel key new ${name}. Each subscriber runs: relay channel key add ${name}`);
}
