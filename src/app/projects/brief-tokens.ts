import { readFileSync } from 'node:fs';
import { tokenTableCounter } from '../../text/token-table.ts';
import { ownTextWork } from '../store/own-text-work.ts';

/** The build makes it, beside the files it makes of this one. */
export const TOKEN_TABLE = 'o200k.bin';

let counter: ((text: string) => number) | null | undefined;

/** How many tokens a brief is. A hook has no time to load the tokenizer; only where this runs from the sources is it loaded. */
export async function briefTokens(text: string): Promise<number> {
  counter ??= openTable();
  return counter ? counter(text) : (await ownTextWork.count(text)).tokens;
}

function openTable(): ((text: string) => number) | null {
  try {
    return tokenTableCounter(readFileSync(new URL(TOKEN_TABLE, import.meta.url)));
  } catch {
    return null;
  }
}
