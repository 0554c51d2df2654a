import { closeSync, fstatSync, openSync, read } from 'node:fs';
import { RelayError } from '../../base/errors.ts';

const CHUNK_BYTES = 256 * 1024;

/** Closes the file of a body that was asked for and then forgotten. */
const forgotten = new FinalizationRegistry<Handle>((handle) => handle.close());

/** An open file. It stays readable when its name is removed or given to another. */
export class BodyFile {
  readonly size: number;
  readonly #handle: Handle;
  readonly #path: string;

  /** Null where there is no such file. */
  static open(path: string): BodyFile | null {
    try {
      return new BodyFile(path, openSync(path, 'r'));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
  }

  private constructor(path: string, fd: number) {
    this.#path = path;
    this.#handle = new Handle(fd);
    this.size = fstatSync(fd).size;
  }

  close(): void {
    this.#handle.close();
  }

  /** The bytes from `start` up to `end`, read as they are asked for. Closes the file at its end or when cancelled. */
  stream(start: number, end: number): ReadableStream<Uint8Array> {
    const handle = this.#handle;
    const path = this.#path;
    let at = start;
    const body = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          if (at < end) {
            const piece = await handle.read(Math.min(CHUNK_BYTES, end - at), at);
            at += piece.length;
            if (piece.length > 0) controller.enqueue(piece);
            else controller.error(new RelayError('store_damaged', { path, what: 'it ends too early' }));
            if (piece.length > 0 && at < end) return;
          }
          handle.close();
          if (at >= end) controller.close();
        },
        cancel: () => handle.close(),
      },
      { highWaterMark: 0 },
    );
    forgotten.register(body, handle);
    return body;
  }
}

class Handle {
  #fd: number;
  #reading = false;
  #unwanted = false;

  constructor(fd: number) {
    this.#fd = fd;
  }

  read(length: number, position: number): Promise<Uint8Array> {
    const buffer = Buffer.allocUnsafeSlow(length);
    this.#reading = true;
    return new Promise((resolve, reject) => {
      read(this.#fd, buffer, 0, length, position, (error, count) => {
        this.#reading = false;
        if (this.#unwanted || error) this.close();
        if (error) reject(error);
        else resolve(buffer.subarray(0, count));
      });
    });
  }

  /** While a read is under way the number must not be given to another file, so it waits. */
  close(): void {
    this.#unwanted = true;
    if (this.#reading || this.#fd < 0) return;
    closeSync(this.#fd);
    this.#fd = -1;
  }
}
