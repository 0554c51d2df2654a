import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { systemEnv } from '../../base/env.ts';
import { uuid } from '../../base/ids.ts';
import { orElse } from '../../base/or-else.ts';
import { birthOf, isAlive, type ServerRecord } from '../serve/pid-file.ts';
import { makeHome } from '../store/home.ts';

/** Start of a spool file: JSON, padded with spaces to `HEADER_BYTES`. */
interface Header extends Pick<ServerRecord, 'pid' | 'birth'> {
  /** Idempotency key of the push: two processes that store the same spool create only one pointer. */
  readonly id: string;
  readonly command: string;
}

const HEADER_BYTES = 1024;
const READ_BYTES = 256 * 1024;

/**
 * File in the home with the output of a running command. Its header names the process that writes the file. If that
 * process is killed, the next command that lists or stores outputs stores this output too.
 */
export class Spool {
  readonly header: Header;
  readonly #path: string;
  readonly #fd: number;
  size: number;

  private constructor(path: string, fd: number, size: number, header: Header) {
    this.#path = path;
    this.#fd = fd;
    this.size = size;
    this.header = header;
  }

  static create(home: string, command: string): Spool {
    const { pid } = process;
    const header: Header = { id: uuid(systemEnv), pid, birth: birthOf(pid), command };
    const path = join(makeFolder(home), `${header.id}.spool`);
    const fd = openSync(path, 'wx+', 0o600);
    const line = Buffer.alloc(HEADER_BYTES, ' ');
    line.write(JSON.stringify(header));
    writeFileSync(fd, line);
    return new Spool(path, fd, 0, header);
  }

  /** Yields the spools of processes that have ended. Requesting the next spool closes the previous one. */
  static *abandoned(home: string): Generator<Spool> {
    const folder = makeFolder(home);
    for (const name of readdirSync(folder).filter((file) => file.endsWith('.spool'))) {
      const path = join(folder, name);
      let fd: number;
      try {
        fd = openSync(path, 'r');
      } catch {
        // Another process has just stored the output and deleted its spool.
        continue;
      }
      try {
        const header = readHeader(fd);
        if (header === null) rmSync(path, { force: true });
        else if (!isAlive(header)) yield new Spool(path, fd, fstatSync(fd).size - HEADER_BYTES, header);
      } finally {
        closeSync(fd);
      }
    }
  }

  append(chunk: Uint8Array): void {
    writeFileSync(this.#fd, chunk);
    this.size += chunk.byteLength;
  }

  /** Reads bytes of the output. */
  read(from: number, to: number): Uint8Array<ArrayBuffer> {
    const buffer = new Uint8Array(to - from);
    return buffer.subarray(0, readSync(this.#fd, buffer, 0, buffer.length, HEADER_BYTES + from));
  }

  *chunks(from = 0, to = this.size): Generator<Uint8Array> {
    for (let at = from; at < to; at += READ_BYTES) yield this.read(at, Math.min(at + READ_BYTES, to));
  }

  /** Deletes the file. The open file stays readable until this process ends. */
  delete(): void {
    rmSync(this.#path, { force: true });
  }
}

/**
 * Reads the header. Returns null if the header was not written because the disk was full. Such a spool has no
 * output.
 */
function readHeader(fd: number): Header | null {
  const bytes = Buffer.alloc(HEADER_BYTES);
  readSync(fd, bytes, 0, HEADER_BYTES, 0);
  return orElse(() => JSON.parse(bytes.toString()), null);
}

const folderOf = (home: string) => join(home, 'outputs');

function makeFolder(home: string): string {
  makeHome(home);
  mkdirSync(folderOf(home), { recursive: true, mode: 0o700 });
  return folderOf(home);
}

/**
 * Returns an id of a pipe. On Linux, both ends of the pipe have the same id. Returns null for a file that is no
 * pipe, because the inode number of such a file is soon reused.
 */
export function pipeId(fd: number): string | null {
  const file = orElse(() => fstatSync(fd), null);
  return file?.isFIFO() ? `${file.dev}-${file.ino}` : null;
}

/**
 * Number of files that note which pipes got pulled text. The inode number of a pipe selects the file. Pipes
 * can share a file, and the later note overwrites the earlier one.
 */
const PULL_NOTES = 64;

function notePath(home: string, pipe: string): string {
  return join(folderOf(home), `pulled-${Number(pipe.split('-')[1]) % PULL_NOTES}`);
}

/**
 * Records that pulled or excerpted text goes into a pipe. Without the record, `relay tee` at the other end of the
 * pipe would shorten the text again.
 */
export function notePulled(home: string, pipe: string | null): void {
  try {
    if (pipe === null) return;
    makeFolder(home);
    writeFileSync(notePath(home, pipe), pipe, { mode: 0o600 });
  } catch {
    // Ignore the error, because pulling must also work in a read-only home. Without the note, `relay tee` may
    // shorten the text again, but no data is lost.
  }
}

/**
 * Returns whether the pipe got pulled text. Deletes the note, because a later pipe may have the same inode
 * number.
 */
export function takePulledNote(home: string, pipe: string | null): boolean {
  try {
    if (pipe === null || readFileSync(notePath(home, pipe), 'utf8') !== pipe) return false;
    rmSync(notePath(home, pipe), { force: true });
    return true;
  } catch {
    return false;
  }
}
