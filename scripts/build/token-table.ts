import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeTokenTable } from '../../src/text/token-table.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const CACHED = join(ROOT, 'node_modules', '.cache', 'o200k.bin');
const SOURCE = join(ROOT, 'src', 'text', 'token-table.ts');

/** Returns the tokens of o200k_base, ordered by rank. */
export async function vocabulary(): Promise<readonly (string | readonly number[])[]> {
  return (await import('gpt-tokenizer/bpeRanks/o200k_base')).default;
}

/**
 * Returns the token table. In a clone the table is built at first use, which takes about a second, and
 * cached.
 */
export async function tokenTable(): Promise<Uint8Array> {
  const cacheStat = statSync(CACHED, { throwIfNoEntry: false });
  if (cacheStat && statSync(SOURCE).mtimeMs < cacheStat.mtimeMs) return readFileSync(CACHED);
  const table = makeTokenTable(await vocabulary());
  try {
    mkdirSync(dirname(CACHED), { recursive: true });
    const fresh = `${CACHED}.${process.pid}`;
    writeFileSync(fresh, table);
    renameSync(fresh, CACHED);
  } catch {
    // A read-only clone cannot cache the table, so the table is built at every use.
  }
  return table;
}
