import { readFileSync } from 'node:fs';
import type { TokenCount } from '../../base/tokens.ts';
import { tokenCounter } from '../../text/token-count.ts';
import { openTokenTable } from '../../text/token-table.ts';

/** Reading the table takes a millisecond or two. The build puts it beside the file that it makes of this one. */
export async function openTokenCounter(): Promise<(text: string) => TokenCount> {
  return tokenCounter(openTokenTable(await readTable()));
}

async function readTable(): Promise<Uint8Array> {
  if (!import.meta.url.endsWith('.ts')) return readFileSync(new URL('./o200k.bin', import.meta.url));
  const script = new URL('../../../scripts/build/token-table.ts', import.meta.url);
  return (await import(script.href)).tokenTable();
}
