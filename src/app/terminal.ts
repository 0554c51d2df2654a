import { fstatSync, read, writeSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { bun } from '../base/bun.ts';
import type { Input, Output, Terminal } from '../interfaces/cli/io.ts';
import { programName } from './install/launcher.ts';

/**
 * Returns the terminal of this process. Creates Node's own streams only if they are needed, because each
 * costs 4 ms.
 */
export function processTerminal(): Terminal & {
  /**
   * Returns whether all output is written. False if Node's own streams, which may hold output, are in use.
   */
  isWritten(): boolean;
} {
  let streams = false;
  const noteUse = <T>(stream: T): T => {
    streams = true;
    return stream;
  };
  return {
    stdin: input(() => noteUse(process.stdin)),
    stdout: output(1, () => noteUse(process.stdout)),
    stderr: output(2, () => noteUse(process.stderr)),
    isWritten: () => !streams,
    env: process.env,
    cwd: process.cwd(),
    program: (where) => programName(process.env, where),
  };
}

function input(open: () => NodeJS.ReadStream): Input {
  let isTTY: boolean | null = null;
  return {
    get isTTY() {
      isTTY ??= isTerminal(0);
      return isTTY;
    },
    get stream() {
      return open();
    },
    take: bun ? takerOnBun(bun) : take,
  };
}

/**
 * Like `take`, for Bun. The asynchronous `read` of `take` would start two threads on Bun, which takes a
 * millisecond.
 */
function takerOnBun({ stdin }: NonNullable<typeof bun>): Input['take'] {
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  return async () => {
    reader ??= stdin.stream().getReader();
    const { done, value } = await reader.read();
    return done ? null : value;
  };
}

function take(): Promise<Uint8Array | null> {
  const buffer = new Uint8Array(CHUNK);
  return new Promise((resolve, reject) => {
    const attempt = () =>
      read(0, buffer, 0, CHUNK, null, (error, bytes) => {
        if (error?.code === 'EAGAIN') setTimeout(attempt, 2);
        else if (error && error.code !== 'EOF') reject(error);
        else resolve(bytes > 0 ? buffer.subarray(0, bytes) : null);
      });
    attempt();
  });
}

const CHUNK = 64 * 1024;

function output(fd: 1 | 2, open: () => NodeJS.WriteStream): Output {
  let isTTY: boolean | null = null;
  let opened: NodeJS.WriteStream | null = null;
  let isBroken = false;
  const stream = (): NodeJS.WriteStream => {
    if (opened !== null) return opened;
    opened = open();
    // A closed pipe is no error of the command. A caller that sends a long body gets the error from `send`.
    opened.on('error', (error: NodeJS.ErrnoException) => {
      isBroken = true;
      if (error.code !== 'EPIPE') process.exitCode ||= 1;
    });
    return opened;
  };
  const atTerminal = (): boolean => {
    isTTY ??= isTerminal(fd);
    return isTTY;
  };
  return {
    get isTTY() {
      return atTerminal();
    },
    get columns() {
      return atTerminal() ? (stream().columns ?? 80) : 80;
    },
    write(data) {
      if (isBroken) return;
      if (opened !== null || atTerminal()) stream().write(data);
      else isBroken = !writeAll(fd, data);
    },
    send(data) {
      return new Promise((resolve, reject) => {
        stream().write(data, (error) => (error ? reject(error) : resolve()));
      });
    },
    get stream(): Writable {
      return stream();
    },
  };
}

function isTerminal(fd: number): boolean {
  try {
    // Most outputs are pipes, which `fstat` recognizes faster than node:tty can be loaded.
    const file = process.platform === 'win32' ? null : fstatSync(fd);
    if (file && !file.isCharacterDevice()) return false;
    if (file && process.platform === 'linux' && file.rdev >> 8 === MEMORY_DEVICES) return false;
  } catch {
    return false;
  }
  return process.getBuiltinModule('node:tty').isatty(fd);
}

/** Major device number of /dev/null and similar devices on Linux. */
const MEMORY_DEVICES = 1;

/** Writes all data. Returns false if the reader has closed the pipe. */
function writeAll(fd: number, data: string | Uint8Array): boolean {
  let rest = typeof data === 'string' ? Buffer.from(data) : data;
  while (rest.byteLength > 0) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EPIPE') return false;
      if (code !== 'EAGAIN') throw error;
      pause(2);
    }
  }
  return true;
}

/**
 * Blocks the process for `ms`. Writing to a full pipe normally waits. But if the process at the other end has made
 * the pipe non-blocking, the write fails immediately. Then we wait here and try again.
 */
function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
