/** Writes the same record and the same blob over and over, and tells each number once it is acknowledged. */
import { openSqlite } from '../../../src/engines/sqlite/engine.ts';
import { options, say } from './said.ts';

const { home, to } = options<{ home: string; to: number }>();
const engine = await openSqlite({ home });
for (let n = 1; n <= to; n++) {
  await engine.records.put('all.count/1', { n });
  await engine.blobs.put('all.count/1', new TextEncoder().encode(String(n)));
  say({ n });
}
await engine.records.delete('all.count/1');
await engine.blobs.delete('all.count/1');
say({ n: 'deleted' });
await engine[Symbol.asyncDispose]();
