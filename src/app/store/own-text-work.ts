import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TokenCount } from '../../base/tokens.ts';
import { readText } from '../../base/utf8.ts';
import { WorkMeter } from '../../base/work-meter.ts';
import type { TextWork } from '../../domain/text-work.ts';
import { runFold } from '../../domain/threads/fold-job.ts';
import { excerpt } from '../../text/excerpt/excerpt.ts';
import { takePart } from '../../text/parts/take-part.ts';
import { makePreview } from '../../text/preview/preview.ts';
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

/**
 * Processes texts in this process, not in worker threads. For commands, which end soon. It loads code when it
 * is needed.
 */
export const ownTextWork: TextWork = {
  async count(text) {
    counter ??= openTokenCounter();
    const countTokens = await counter;
    return countTokens(typeof text === 'string' ? text : await readText(text));
  },
  async part(body, request) {
    // The regular expression library is large, and few commands need it.
    const { re2Matcher } = await import('../../text/parts/re2-matcher.ts');
    return takePart(body, request, re2Matcher);
  },
  excerpt: (body, { budget }) =>
    excerpt(body instanceof Uint8Array ? [body] : body, { budget, counter: ownTextWork }),
  async preview(kind, content) {
    return makePreview(kind, content);
  },
  async fold(job, events) {
    return runFold(job, events, new WorkMeter());
  },
};

async function openTokenCounter(): Promise<(text: string) => TokenCount> {
  return tokenCounter(await readTable());
}

/**
 * Returns the token table. A published package contains the vocabulary. A clone uses the vocabulary of an npm
 * package.
 */
async function readTable(): Promise<TokenTable> {
  if (!import.meta.url.endsWith('.ts')) return unpackedTable();
  const script = new URL('../../../scripts/build/token-table.ts', import.meta.url);
  return openTokenTable(await (await import(script.href)).tokenTable());
}

/**
 * Builds the token table, which takes about 50 ms, and caches it next to the compiled code. Without a
 * writable cache, every process builds the table.
 */
async function unpackedTable(): Promise<TokenTable> {
  const { XDG_CACHE_HOME, HOME, LOCALAPPDATA } = process.env;
  const home = XDG_CACHE_HOME || (HOME ? `${HOME}/.cache` : LOCALAPPDATA);
  const kept = home && join(home, 'contextrelay', 'o200k-2.bin');
  const known = kept ? readCachedTable(kept) : null;
  if (known) return known;
  const { brotliDecompressSync } = await import('node:zlib');
  const packed = ownFile('dist/cli/o200k.br')!;
  const table = makeTokenTable(unpackTokens(brotliDecompressSync(packed)));
  if (kept) keep(kept, table);
  return openTokenTable(table);
}

/** Reads the cached token table. Returns null if the file is missing or incomplete. */
function readCachedTable(path: string): TokenTable | null {
  try {
    const made = readMapped(path);
    return isWholeTable(made) ? openTokenTable(made) : null;
  } catch {
    // The table has not been cached yet.
    return null;
  }
}

function keep(path: string, table: Uint8Array): void {
  try {
    mkdirSync(join(path, '..'), { recursive: true, mode: 0o700 });
    const fresh = `${path}.${process.pid}`;
    writeFileSync(fresh, table, { flush: true });
    renameSync(fresh, path);
  } catch {
    // The folder is read-only or the disk is full. The table in memory is still usable.
  }
}
