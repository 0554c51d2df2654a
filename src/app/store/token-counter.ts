import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { orElse } from '../../base/or-else.ts';
import type { TokenCount } from '../../base/tokens.ts';
import { tokenCounter } from '../../text/token-count.ts';
import {
  isWholeTable,
  makeTokenTable,
  openTokenTable,
  type TokenTable,
  unpackTokens,
} from '../../text/token-table.ts';
import { ownFile, readMapped } from '../own-package.ts';

let counter: Promise<(text: string) => TokenCount> | null = null;

/** Counts the tokens of a text. The first call loads the token table. */
export async function countTokens(text: string): Promise<TokenCount> {
  counter ??= readTable().then(tokenCounter);
  return (await counter)(text);
}

/**
 * Returns the token table. In a published package, it is made from the vocabulary in the package. In a clone, it is
 * made from the vocabulary in an npm package.
 */
async function readTable(): Promise<TokenTable> {
  if (!import.meta.url.endsWith('.ts')) return unpackedTable();
  const script = new URL('../../../scripts/build/token-table.ts', import.meta.url);
  return openTokenTable(await (await import(script.href)).tokenTable());
}

/**
 * Returns the token table in the cache folder of the user. If it is missing, builds the table, which takes about
 * 50 ms, and stores it there. If the folder is not writable, every process builds the table.
 */
async function unpackedTable(): Promise<TokenTable> {
  const { XDG_CACHE_HOME, HOME, LOCALAPPDATA } = process.env;
  const home = XDG_CACHE_HOME || (HOME ? `${HOME}/.cache` : LOCALAPPDATA);
  const cachePath = home && join(home, 'contextrelay', 'o200k-2.bin');
  const cachedTable = cachePath ? readCachedTable(cachePath) : null;
  if (cachedTable) return cachedTable;
  const { brotliDecompressSync } = await import('node:zlib');
  const packed = ownFile('dist/cli/o200k.br')!;
  const table = makeTokenTable(unpackTokens(brotliDecompressSync(packed)));
  if (cachePath) keep(cachePath, table);
  return openTokenTable(table);
}

/** Reads the cached token table. Returns null if the file is missing or incomplete. */
function readCachedTable(path: string): TokenTable | null {
  const mapped = orElse(() => readMapped(path), null);
  return mapped !== null && isWholeTable(mapped) ? openTokenTable(mapped) : null;
}

function keep(path: string, table: Uint8Array): void {
  try {
    mkdirSync(join(path, '..'), { recursive: true, mode: 0o700 });
    const fresh = `${path}.${process.pid}`;
    writeFileSync(fresh, table, { flush: true });
    renameSync(fresh, path);
  } catch {
    // On a read-only folder or a full disk, use the table in memory.
  }
}
