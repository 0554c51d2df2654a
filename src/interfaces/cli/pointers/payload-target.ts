import type { Stats } from 'node:fs';
import { type FileHandle, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { RelayError } from '../../../base/errors.ts';
import { bytes } from '../human.ts';
import type { Io } from '../io.ts';
import { withProgress } from '../progress.ts';

type Body = Uint8Array | ReadableStream<Uint8Array>;

/** Enough to tell text from bytes that would upset a terminal. */
const LOOK_BYTES = 8192;

/** Writes a payload to standard output, or into a file that is complete or not there. */
export async function writePayload(
  io: Io,
  body: Body,
  o: { out?: string; force?: boolean; size?: number },
): Promise<void> {
  if (o.out !== undefined && o.out !== '-') return toFile(io, body, o.out, o.size);
  await toOutput(io, body, o);
}

async function toOutput(io: Io, body: Body, o: { force?: boolean; size?: number }): Promise<void> {
  const watched = io.interactive ? body : shown(io, body, 'pull', o.size);
  let first = true;
  let last = 0;
  await each(watched, async (chunk) => {
    if (first && io.interactive && !o.force) refuseBinary(chunk);
    first = false;
    last = chunk.at(-1) ?? last;
    // What came whole is written at once; a Node stream would take longer to make than to use.
    if (body instanceof Uint8Array) io.stdout.write(chunk);
    else await io.stdout.send(chunk);
  });
  // The prompt of the shell begins on a line of its own; a pipe gets the bytes and nothing else.
  if (io.interactive && last !== LINE_FEED && !first) io.stdout.write('\n');
}

const LINE_FEED = 0x0a;

function refuseBinary(chunk: Uint8Array): void {
  const look = chunk.subarray(0, LOOK_BYTES);
  const text = !look.includes(0) && isText(look, chunk.byteLength <= LOOK_BYTES);
  if (!text) throw notForTerminals();
}

export function notForTerminals(): RelayError {
  return new RelayError('bad_usage', {
    what: 'This payload is not text and would upset the terminal.',
    hint: 'Write it to a file with --out FILE, pipe it on, or insist with --force.',
  });
}

function isText(look: Uint8Array, whole: boolean): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(look, { stream: !whole });
    return true;
  } catch {
    return false;
  }
}

async function toFile(io: Io, body: Body, name: string, size?: number): Promise<void> {
  const path = await realPath(resolve(io.cwd, name));
  const there = await stat(path).catch(() => null);
  if (there?.isDirectory()) {
    throw new RelayError('bad_usage', {
      what: `${name} is a folder.`,
      hint: `Name a file in it: --out ${join(name, 'FILE')}`,
    });
  }
  // A device or a pipe cannot be replaced; it takes the bytes as they come.
  const direct = there !== null && !there.isFile();
  const draft = direct ? path : join(dirname(path), `.${basename(path)}.${process.pid}.part`);
  const file = await openTarget(draft, name, direct, there);
  let written = 0;
  try {
    await each(shown(io, body, basename(path), size), async (chunk) => {
      await file.writeFile(chunk);
      written += chunk.byteLength;
    });
    await file.close();
    if (!direct) await rename(draft, path);
  } catch (error) {
    await file.close().catch(() => {});
    if (!direct) await rm(draft, { force: true });
    throw error;
  }
  io.result({ out: path, size: written }, io.interactive ? `wrote ${name}, ${bytes(written)}` : '');
}

async function realPath(path: string): Promise<string> {
  return realpath(path).catch(() => path);
}

async function openTarget(
  path: string,
  name: string,
  direct: boolean,
  there: Stats | null,
): Promise<FileHandle> {
  try {
    const file = await open(path, direct ? 'w' : 'wx');
    if (there && !direct) await file.chmod(there.mode & 0o777);
    return file;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why =
      code === 'ENOENT' ? 'there is no such folder' : code === 'EACCES' ? 'you may not write there' : code;
    throw new RelayError('failed', {
      what: `${name} cannot be written: ${why}.`,
      hint: 'Choose another place for --out.',
    });
  }
}

function shown(io: Io, body: Body, label: string, size?: number): Body {
  return body instanceof Uint8Array ? body : withProgress(io, body, { label, size });
}

async function each(body: Body, use: (chunk: Uint8Array) => Promise<void>): Promise<void> {
  if (body instanceof Uint8Array) return use(body);
  for await (const chunk of body) await use(chunk);
}
