/** Pushes, deletes and sweeps without end, as a server does, and tells what is acknowledged; it is meant to be killed. */
import { writeSync } from 'node:fs';
import { openSqlite } from '../../../src/engines/sqlite/engine.ts';
import { options } from './said.ts';

const { home, name } = options<{ home: string; name: string }>();
const engine = await openSqlite({ home, role: 'server' });
/** Not through a stream: what was told must be out before anything else happens. */
function tell(what: object): void {
  for (let left = Buffer.from(`${JSON.stringify(what)}\n`); left.length > 0; ) {
    try {
      left = left.subarray(writeSync(1, left));
    } catch (error) {
      // Whoever listens is behind.
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
    }
  }
}

/** In a row, in segments, now and then in a file of its own. */
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
    tell({ key, size });
    // Two of three go again, so that segments are worth moving.
    const old = i - 24;
    if (old < 0 || old % 3 === 1) continue;
    const gone = `ptr.${name}-${old}/body`;
    tell({ key: gone, size: 0 });
    await engine.blobs.delete(gone);
  }
}

async function sweep(): Promise<void> {
  for (;;) {
    await engine.sweep();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

await Promise.all([...Array.from({ length: 8 }, push), sweep()]);
