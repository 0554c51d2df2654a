/** Uses every part of a store and does not close it. The test checks that the process ends anyway. */
import { openSqlite } from '../../../src/engines/sqlite/engine.ts';
import { options, print } from './script-io.ts';

const { home, role, follow } = options<{ home: string; role: 'server' | 'cli'; follow: boolean }>();
const engine = await openSqlite({ home, role });
await engine.blobs.put('lin.a/1', new Uint8Array(300_000));
await engine.blobs.get('lin.a/1');
await engine.records.put('lin.a/1', 1);
await engine.logs.append('lin.log', 1);
await engine.index.put('lin.a/1', 'some text', {});
const abort = new AbortController();
for await (const _ of engine.logs.subscribe('lin.log', { signal: abort.signal })) break;
if (role === 'server')
  for (let i = 0; i < 250; i++) await engine.blobs.put(`lin.b/${i}`, new Uint8Array(100_000));
print('done');
if (follow) {
  for await (const { data } of engine.logs.subscribe('lin.log', { after: 1, signal: abort.signal })) {
    if (data === 'end') abort.abort();
  }
  print('ended');
}
