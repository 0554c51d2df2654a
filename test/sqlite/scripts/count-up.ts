/**
 * Overwrites one record and one blob with increasing numbers and prints each number after it is acknowledged.
 */
import { openSqlite } from '../../../src/engines/sqlite/engine.ts';
import { options, print } from './script-io.ts';

const { home, to } = options<{ home: string; to: number }>();
const engine = await openSqlite({ home });
for (let n = 1; n <= to; n++) {
  await engine.records.put('all.count/1', { n });
  await engine.blobs.put('all.count/1', new TextEncoder().encode(String(n)));
  print({ n });
}
await engine.records.delete('all.count/1');
await engine.blobs.delete('all.count/1');
print({ n: 'deleted' });
await engine[Symbol.asyncDispose]();
