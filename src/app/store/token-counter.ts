import { closeSync, fstatSync, mkdirSync, openSync, readSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TokenCount } from '../../base/tokens.ts';
import { tokenCounter } from '../../text/token-count.ts';
import {
  type FetchBytes,
  isWholeTable,
  makeTokenTable,
  openTokenTable,
  type TokenTable,
  unpackTokens,
} from '../../text/token-table.ts';
import { ownFile } from '../own-package.ts';

/** A short text needs a few pages of the table, which has three megabytes: they are read as they are looked at. */
const PAGE_BYTES = 4096;
/** Who looks more often than this is counting something longer, and gets so many pages with each that he lacks. */
const LOOKS = 200;
const PAGES = 64;

export async function openTokenCounter(): Promise<(text: string) => TokenCount> {
  return tokenCounter(await readTable());
}

/** What is published carries the vocabulary, and the table is made of that; a clone makes it from the package that has it. */
async function readTable(): Promise<TokenTable> {
  if (!import.meta.url.endsWith('.ts')) return unpackedTable();
  const script = new URL('../../../scripts/build/token-table.ts', import.meta.url);
  return openTokenTable(await (await import(script.href)).tokenTable());
}

/** Made once, in some 50 ms, and kept beside what the compiler made. Where nothing can be kept it is made every time. */
async function unpackedTable(): Promise<TokenTable> {
  const { XDG_CACHE_HOME, HOME, LOCALAPPDATA } = process.env;
  const home = XDG_CACHE_HOME || (HOME ? `${HOME}/.cache` : LOCALAPPDATA);
  const kept = home && join(home, 'contextrelay', 'o200k-2.bin');
  const known = kept ? keptTable(kept) : null;
  if (known) return known;
  const { brotliDecompressSync } = await import('node:zlib');
  const packed = ownFile('dist/cli/o200k.br')!;
  const table = makeTokenTable(unpackTokens(brotliDecompressSync(packed)));
  if (kept) keep(kept, table);
  return openTokenTable(table);
}

/** Null where there is none, or not all of it. Its file stays open for as long as the process lives. */
function keptTable(path: string): TokenTable | null {
  let file: number | undefined;
  try {
    file = openSync(path, 'r');
    const { made, fetch } = byPages(file);
    if (isWholeTable(made, fetch)) return openTokenTable(made, fetch);
  } catch {
    // Not made yet.
  }
  if (file !== undefined) closeSync(file);
  return null;
}

function byPages(file: number): { made: Uint8Array; fetch: FetchBytes } {
  const made = new Uint8Array(fstatSync(file).size);
  const there = new Uint8Array(Math.ceil(made.length / PAGE_BYTES));
  let looks = 0;
  const fetch: FetchBytes = (from, to) => {
    let page = Math.floor(from / PAGE_BYTES);
    let end = Math.ceil(to / PAGE_BYTES);
    while (page < end && there[page]) page++;
    if (page === end) return;
    if (++looks > LOOKS) {
      page -= page % PAGES;
      end = Math.ceil(end / PAGES) * PAGES;
    }
    const at = page * PAGE_BYTES;
    readSync(file, made, at, Math.min(end * PAGE_BYTES, made.length) - at, at);
    there.fill(1, page, end);
  };
  return { made, fetch };
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
