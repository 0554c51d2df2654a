import { closeSync, fstatSync, openSync, read } from 'node:fs';
import type { ByteRange } from '../../kernel/blobs.ts';
import { BLOCK_BYTES, blocksAround, damagedBody } from '../../kernel/block-hashes.ts';

/** What is read at once: some blocks. */
const CHUNK_BYTES = 4 * BLOCK_BYTES;

/** Whether what was read, from the byte `at` on, where a block begins, is what was stored. */
export type Check = (piece: Uint8Array, at: number) => boolean;

/** Closes the file of a body that was asked for and then forgotten. */
const forgotten = new FinalizationRegistry<BodyFile>((file) => file.close());

/** An open file. It stays readable when its name is removed or given to another. */
export class BodyFile implements Disposable {
  readonly size: number;
  #fd: number;
  #reading = false;
  #unwanted = false;

  /** Null where there is no such file. */
  static open(path: string): BodyFile | null {
    try {
      return new BodyFile(openSync(path, 'r'));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
  }

  private constructor(fd: number) {
    this.#fd = fd;
    this.size = fstatSync(fd).size;
  }

  /**
   * The bytes from `start` up to `end`, read as they are asked for and checked block by block before any of a block is given.
   * Null where the first of them are damaged already; `name` is what the stream calls it where later ones are. Closes
   * the file at its end, when cancelled, and when it fails.
   */
  async stream(
    { start, end }: ByteRange,
    check: Check = () => true,
    name = 'a body',
  ): Promise<ReadableStream<Uint8Array> | null> {
    const blocks = blocksAround({ start, end }, this.size);
    let at = blocks.start;
    const next = async () => {
      const piece = await this.#read(Math.min(CHUNK_BYTES, blocks.end - at), at);
      if (!piece || !check(piece, at)) {
        this.close();
        return null;
      }
      const wanted = piece.subarray(Math.max(start - at, 0), end - at);
      at += piece.length;
      return wanted;
    };
    let ahead = start < end ? await next() : new Uint8Array();
    if (!ahead) return null;
    const body = new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          const piece = ahead ?? (await next());
          ahead = null;
          if (!piece) throw damagedBody(name, 'altered');
          if (piece.length > 0) controller.enqueue(piece);
          if (at < blocks.end) return;
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

  /** All of it, or null where the file ends before or the disk cannot read it. */
  async #read(length: number, position: number): Promise<Uint8Array | null> {
    const buffer = Buffer.allocUnsafeSlow(length);
    for (let done = 0; done < length; ) {
      const count = await this.#readSome(buffer, done, position + done);
      if (count === 0) return null;
      done += count;
    }
    return buffer;
  }

  #readSome(buffer: Buffer, offset: number, position: number): Promise<number> {
    this.#reading = true;
    return new Promise((resolve) => {
      read(this.#fd, buffer, offset, buffer.length - offset, position, (error, count) => {
        this.#reading = false;
        if (this.#unwanted) this.close();
        resolve(error ? 0 : count);
      });
    });
  }
}
