import { type FileHandle, open } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { RelayError } from '../../../base/errors.ts';
import { INLINE_BLOB_BYTES, PAYLOAD_BYTES } from '../../../base/limits.ts';
import { bytes } from '../human.ts';
import type { Io } from '../io.ts';

/** What a push sends: small files whole, large ones and pipes as a stream. */
export interface PayloadSource {
  readonly body: Uint8Array | ReadableStream<Uint8Array>;
  /** Known ahead for a file. */
  readonly size?: number;
  readonly label: string;
}

const CHUNK_BYTES = 64 * 1024;

/** From a file, or from standard input for `-` or when nothing is named and something is piped in. */
export async function openPayload(
  io: Io,
  name: string | undefined,
  o: { limit?: number } = {},
): Promise<PayloadSource> {
  if (name !== undefined && name !== '-') return fromFile(io, name, o.limit ?? PAYLOAD_BYTES);
  if (name === undefined && io.stdin.isTTY) {
    throw new RelayError('bad_usage', {
      what: 'There is nothing to push: no file was named and nothing is piped in.',
      hint: 'Use: relay push FILE, or: some-command | relay push',
    });
  }
  if (io.stdin.isTTY) io.note('Type or paste; end with Ctrl-D on a line of its own.');
  return { body: streamOf(io.stdin.stream), label: 'standard input' };
}

async function fromFile(io: Io, name: string, limit: number): Promise<PayloadSource> {
  const path = resolve(io.cwd, name);
  let file: FileHandle;
  try {
    file = await open(path, 'r');
  } catch (error) {
    throw unreadable(name, error);
  }
  try {
    const stat = await file.stat();
    if (stat.isDirectory()) {
      throw new RelayError('bad_usage', {
        what: `${name} is a folder.`,
        hint: `Pack it into one file first: tar cz ${name} | relay push`,
      });
    }
    if (!stat.isFile()) return { body: fileStream(file, null), label: basename(path) };
    const { size } = stat;
    if (size > limit) {
      throw new RelayError('too_large', { what: `${name}, with its ${bytes(size)},`, limit });
    }
    if (size > INLINE_BLOB_BYTES) return { body: fileStream(file, size), size, label: basename(path) };
    const body = await file.readFile();
    await file.close();
    return { body, size: body.byteLength, label: basename(path) };
  } catch (error) {
    await file.close().catch(() => {});
    throw error;
  }
}

/** Closes the file when it has been read, or is no longer wanted. */
function fileStream(file: FileHandle, size: number | null): ReadableStream<Uint8Array> {
  let left = size ?? Number.POSITIVE_INFINITY;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const chunk = new Uint8Array(CHUNK_BYTES);
        const { bytesRead } = await file.read(chunk, 0, Math.min(CHUNK_BYTES, left));
        left -= bytesRead;
        if (bytesRead > 0) controller.enqueue(chunk.subarray(0, bytesRead));
        if (bytesRead === 0 || left === 0) {
          await file.close();
          controller.close();
        }
      },
      cancel: () => file.close(),
    },
    { highWaterMark: 1 },
  );
}

function streamOf(input: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const chunks = input[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: async () => void (await chunks.return?.()),
    },
    { highWaterMark: 1 },
  );
}

function unreadable(name: string, error: unknown): RelayError {
  const { code } = error as NodeJS.ErrnoException;
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
