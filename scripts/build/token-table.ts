import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeTokenTable } from '../../src/text/token-table.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const CACHED = join(ROOT, 'node_modules', '.cache', 'o200k.bin');
const SOURCE = join(ROOT, 'src', 'text', 'token-table.ts');

/** The tokens of o200k_base by their ranks. */
export async function vocabulary(): Promise<readonly (string | readonly number[])[]> {
  return (await import('gpt-tokenizer/bpeRanks/o200k_base')).default;
}

/** The table of tokens, for the build and for whoever runs from a clone: made when it is first asked for, in a second. */
export async function tokenTable(): Promise<Uint8Array> {
  const made = statSync(CACHED, { throwIfNoEntry: false });
  if (made && statSync(SOURCE).mtimeMs < made.mtimeMs) return readFileSync(CACHED);
  const table = makeTokenTable(await vocabulary());
  try {
    mkdirSync(dirname(CACHED), { recursive: true });
    const fresh = `${CACHED}.${process.pid}`;
    writeFileSync(fresh, table);
    renameSync(fresh, CACHED);
  } catch {
    // A clone that cannot be written to makes it every time.
  }
  return table;
}
