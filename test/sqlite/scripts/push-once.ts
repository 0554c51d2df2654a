/** Stores a body, a record, and both together. Writes one byte to stdout after each acknowledgement. */
import { writeSync } from 'node:fs';
import { openSqlite } from '../../../src/engines/sqlite/engine.ts';
import { options } from './script-io.ts';

const { home, bytes, place, role } = options<{
  home: string;
  bytes: number;
  place?: string;
  role?: 'server';
}>();
const engine = await openSqlite({ home, role, place: { prefix: '', path: () => place } });
// Write once before the examined writes, because the first write of a process also creates files and folders.
await engine.blobs.put('warm/1', new Uint8Array(bytes));
await engine.records.put('warm/1', 1);
writeSync(1, 'S');
await engine.blobs.put('push/1', new Uint8Array(bytes));
writeSync(1, 'B');
await engine.records.put('push/1', { size: bytes });
writeSync(1, 'R');
const staged = await engine.blobs.stage('push/2', new Uint8Array(bytes));
await engine.records.put('push/2', { size: bytes }, { with: [staged] });
writeSync(1, 'T');
await engine[Symbol.asyncDispose]();
