import { closeSync, fstatSync, openSync, read } from 'node:fs';
import { RelayError } from '../../base/errors.ts';

const CHUNK_BYTES = 256 * 1024;

/** Closes the file of a body that was asked for and then forgotten. */
const forgotten = new FinalizationRegistry<BodyFile>((file) => file.close());

/** An open file. It stays readable when its name is removed or given to another. */
export class BodyFile implements Disposable {
  readonly size: number;
  readonly #path: string;
  #fd: number;
  #reading = false;
  #unwanted = false;

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
    this.#fd = fd;
    this.size = fstatSync(fd).size;
  }

  /** The bytes from `start` up to `end`, read as they are asked for. Closes the file at its end or when cancelled. */
  stream(start: number, end: number): ReadableStream<Uint8Array> {
    let at = start;
    const body = new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          if (at < end) {
            const piece = await this.#read(Math.min(CHUNK_BYTES, end - at), at);
            at += piece.length;
            controller.enqueue(piece);
          }
          if (at < end) return;
          this.close();
          controller.close();
        },
        cancel: () => this.close(),
      },
      { highWaterMark: 0 },
    );
    forgotten.register(body, this);
    return body;
  }

  /** While a read is under way the descriptor must not be given to another file, so it waits. */
  close(): void {
    this.#unwanted = true;
    if (this.#reading || this.#fd < 0) return;
    closeSync(this.#fd);
    this.#fd = -1;
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** At least one byte. After a failure the file is closed. */
  #read(length: number, position: number): Promise<Uint8Array> {
    const buffer = Buffer.allocUnsafeSlow(length);
    this.#reading = true;
    return new Promise((resolve, reject) => {
      read(this.#fd, buffer, 0, length, position, (error, count) => {
        this.#reading = false;
        if (this.#unwanted || count === 0 || error) this.close();
        if (error) reject(error);
        else if (count > 0) resolve(buffer.subarray(0, count));
        else reject(new RelayError('store_damaged', { path: this.#path, what: 'it ends too early' }));
      });
    });
  }
}
