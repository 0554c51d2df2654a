/** Prints each entry of a stream as it arrives and ends after a given number. */
import { openSqlite } from '../../../src/engines/sqlite/engine.ts';
import { options, print } from './script-io.ts';

const { home, stream, count } = options<{ home: string; stream: string; count: number }>();
const engine = await openSqlite({ home });
print('following');
let entryCount = 0;
for await (const { seq, data } of engine.logs.subscribe(stream, { signal: new AbortController().signal })) {
  print({ seq, data });
  if (++entryCount === count) break;
}
await engine[Symbol.asyncDispose]();
