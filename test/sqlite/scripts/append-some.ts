/** Appends numbers to a stream, with pauses. With `reopen`, it closes and opens the store in between. */
import { setTimeout as pause } from 'node:timers/promises';
import { openSqlite } from '../../../src/engines/sqlite/engine.ts';
import { options } from './script-io.ts';

const o = options<{ home: string; stream: string; from: number; count: number; reopen?: boolean }>();
let engine = await openSqlite({ home: o.home });
for (let i = 0; i < o.count; i++) {
  if (o.reopen && i % 5 === 4) {
    await engine[Symbol.asyncDispose]();
    engine = await openSqlite({ home: o.home });
  }
  await engine.logs.append(o.stream, o.from + i);
  if (i % 10 === 9) await pause(5);
}
await engine[Symbol.asyncDispose]();
