/**
 * Pushes, deletes and sweeps without end, like a server, and prints what is acknowledged. The test kills it.
 */
import { writeSync } from 'node:fs';
import { openSqlite } from '../../../src/engines/sqlite/engine.ts';
import { options } from './script-io.ts';

const { home, name } = options<{ home: string; name: string }>();
const engine = await openSqlite({ home, role: 'server' });
/** Prints a line synchronously, so that it is printed before the next operation begins. */
function printLine(what: object): void {
  for (let left = Buffer.from(`${JSON.stringify(what)}\n`); left.length > 0; ) {
    try {
      left = left.subarray(writeSync(1, left));
    } catch (error) {
      // EAGAIN means that the pipe is full. Try again until the reader catches up.
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
    }
  }
}

/** Sizes in bytes. Small bodies are stored in a row, larger ones in a segment. */
const SIZES = [700, 5_000, 20_000, 60_000, 125_000, 20_000, 5_000, 125_000];
let next = 0;

async function push(): Promise<void> {
  for (;;) {
    const i = next++;
    const key = `ptr.${name}-${i}/body`;
    const size = i % 100 === 99 ? 1_200_000 : SIZES[i % SIZES.length]! + (i % 13);
    const expiresAt = i % 3 === 0 ? undefined : Date.now() + 3_600_000;
    await engine.blobs.put(key, Buffer.alloc(size, `${key} `), { expiresAt });
    await engine.records.put(`ptr.${name}-${i}/meta`, { key, size }, { expect: 'absent', expiresAt });
    printLine({ key, size });
    // Delete two of three, so that compaction has work to do.
    const old = i - 24;
    if (old < 0 || old % 3 === 1) continue;
    const deletedKey = `ptr.${name}-${old}/body`;
    printLine({ key: deletedKey, size: 0 });
    await engine.blobs.delete(deletedKey);
  }
}

async function sweep(): Promise<void> {
  for (;;) {
    await engine.sweep();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

await Promise.all([...Array.from({ length: 8 }, push), sweep()]);
