/** Tells every entry of a stream as it comes, and ends by itself after so many. */
import { openSqlite } from '../../../src/engines/sqlite/engine.ts';
import { options, say } from './said.ts';

const { home, stream, count } = options<{ home: string; stream: string; count: number }>();
const engine = await openSqlite({ home });
say('following');
let seen = 0;
for await (const { seq, data } of engine.logs.subscribe(stream, { signal: new AbortController().signal })) {
  say({ seq, data });
  if (++seen === count) break;
}
await engine[Symbol.asyncDispose]();
