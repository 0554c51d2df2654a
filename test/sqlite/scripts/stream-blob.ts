/** Stores a large body as a stream, reads it back, and prints how much memory that took. */
import { createHash } from 'node:crypto';
import { openSqlite } from '../../../src/engines/sqlite/engine.ts';
import { options, print } from './script-io.ts';

const { home, bytes } = options<{ home: string; bytes: number }>();
const engine = await openSqlite({ home });
const PIECE = 64 * 1024;
let peak = 0;
const look = () => {
  const { rss, arrayBuffers, external } = process.memoryUsage();
  peak = Math.max(peak, rss);
  return { rss, arrayBuffers, external };
};

// Warm up with a small body, so that code and buffer pools do not count.
await engine.blobs.put('warm/1', body(300_000));
await consume((await engine.blobs.get('warm/1'))!.body as ReadableStream<Uint8Array>);
globalThis.gc!();
const before = look();
peak = 0;
const info = await engine.blobs.put('large/1', body(bytes), { size: bytes });
const blob = (await engine.blobs.get('large/1'))!;
const read = await consume(blob.body as ReadableStream<Uint8Array>);
await engine[Symbol.asyncDispose]();
print({ size: blob.size, stored: info.sha256, read, grown: peak - before.rss });

function body(length: number): ReadableStream<Uint8Array> {
  let sentBytes = 0;
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (sentBytes >= length) return controller.close();
        const piece = new Uint8Array(Math.min(PIECE, length - sentBytes)).fill((sentBytes / PIECE) % 251);
        sentBytes += piece.length;
        if ((sentBytes / PIECE) % 16 === 0) globalThis.gc!();
        look();
        controller.enqueue(piece);
      },
    },
    { highWaterMark: 0 },
  );
}

async function consume(stream: ReadableStream<Uint8Array>): Promise<string> {
  const hash = createHash('sha256');
  let pieces = 0;
  for await (const piece of stream) {
    hash.update(piece);
    if (++pieces % 4 === 0) globalThis.gc!();
    look();
  }
  return hash.digest('hex');
}
