import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TokenCount } from '../../base/tokens.ts';
import { tokenCounter } from '../../text/token-count.ts';
import { isWholeTable, makeTokenTable, openTokenTable, unpackTokens } from '../../text/token-table.ts';
import { isExecutable, ownFile } from '../own-package.ts';

/** Reading the table takes a millisecond or two. */
export async function openTokenCounter(): Promise<(text: string) => TokenCount> {
  return tokenCounter(openTokenTable(await readTable()));
}

/** What is published carries the vocabulary, and the table is made of that; a clone makes it from the package that has it. */
async function readTable(): Promise<Uint8Array> {
  if (isExecutable || !import.meta.url.endsWith('.ts')) return unpackedTable();
  const script = new URL('../../../scripts/build/token-table.ts', import.meta.url);
  return (await import(script.href)).tokenTable();
}

/** Made once, in some 50 ms, and kept beside what the compiler made. Where nothing can be kept it is made every time. */
async function unpackedTable(): Promise<Uint8Array> {
  const { XDG_CACHE_HOME, HOME, LOCALAPPDATA } = process.env;
  const home = XDG_CACHE_HOME || (HOME ? `${HOME}/.cache` : LOCALAPPDATA);
  const kept = home && join(home, 'contextrelay', 'o200k.bin');
  try {
    const table = kept ? readFileSync(kept) : null;
    if (table && isWholeTable(table)) return table;
  } catch {
    // Not made yet.
  }
  const { brotliDecompressSync } = await import('node:zlib');
  const packed = ownFile('dist/cli/o200k.br')!;
  const table = makeTokenTable(unpackTokens(brotliDecompressSync(packed)));
  if (kept) keep(kept, table);
  return table;
}

function keep(path: string, table: Uint8Array): void {
  try {
    mkdirSync(join(path, '..'), { recursive: true, mode: 0o700 });
    const fresh = `${path}.${process.pid}`;
    writeFileSync(fresh, table, { flush: true });
    renameSync(fresh, path);
  } catch {
    // A folder that cannot be written to, a full disk: the table is there all the same.
  }
}
