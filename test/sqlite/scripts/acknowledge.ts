/** Writes without end and prints each write after it is acknowledged. The test kills it. */
import { writeSync } from 'node:fs';
import { openSqlite } from '../../../src/engines/sqlite/engine.ts';
import { options } from './script-io.ts';

const { home, role } = options<{ home: string; role: 'server' | 'cli' }>();
const engine = await openSqlite({ home, role });
const body = new Uint8Array(3000).fill(7);
const large = new Uint8Array(150_000).fill(9);
let next = 0;

await Promise.all(
  Array.from({ length: 4 }, async () => {
    for (;;) {
      const i = next++;
      const bytes = i % 50 === 0 ? large : body;
      await engine.blobs.put(`ack.blob/${i}`, bytes);
      await engine.records.put(`ack.record/${i}`, { i, size: bytes.length }, { expect: 'absent' });
      const seq = await engine.logs.append('ack.log', i);
      // Write synchronously, so that the line is printed before the next write begins.
      writeSync(1, `${JSON.stringify({ i, seq })}\n`);
    }
  }),
);
