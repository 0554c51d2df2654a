/** Writes data of one kind until the disk is full and prints the result. */
import { RelayError } from '../../../src/base/errors.ts';
import { openSqlite } from '../../../src/engines/sqlite/engine.ts';
import { options, print } from './script-io.ts';

const { home, kind } = options<{
  home: string;
  kind: 'inline' | 'segment' | 'file' | 'stream' | 'placed' | 'record' | 'log';
}>();
const engine = await openSqlite({
  home,
  role: kind === 'segment' ? 'server' : 'cli',
  place: { prefix: '', path: (key) => (kind === 'placed' ? `things/${key}.bin` : undefined) },
});
const stored: string[] = [];
for (let i = 0; ; i++) {
  try {
    await write(i);
    stored.push(`${i}`);
  } catch (error) {
    print({ code: error instanceof RelayError ? error.code : String(error), stored });
    break;
  }
}
// Data that was stored before the disk was full must still be readable.
for (const i of stored) {
  if (kind === 'record') await engine.records.get(`full.a/${i}`);
  else if (kind !== 'log') await engine.blobs.get(`full.${i}`);
}
await engine[Symbol.asyncDispose]();

async function write(i: number): Promise<unknown> {
  const bytes = new Uint8Array(kind === 'inline' ? 100_000 : 400_000).fill(i + 1);
  if (kind === 'record') return engine.records.put(`full.a/${i}`, 'x'.repeat(100_000));
  if (kind === 'log') return engine.logs.append('full', 'x'.repeat(100_000));
  return engine.blobs.put(`full.${i}`, kind === 'stream' ? new Blob([bytes]).stream() : bytes);
}
