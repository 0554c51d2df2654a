import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { brotliDecompressSync } from 'node:zlib';

export const KINDS = [
  'tests',
  'compilers',
  'linters',
  'builds',
  'traces',
  'logs',
  'json',
  'tables',
  'diffs',
  'listings',
  'html',
] as const;
export type Kind = (typeof KINDS)[number];

/** What a program printed, with machine paths, user, host and dates replaced. */
export interface Output {
  readonly name: string;
  readonly kind: Kind;
  /** The command as a reader would type it. Of an imitation, the command that it imitates. */
  readonly command: string;
  readonly text: string;
}

export const CORPUS = join(import.meta.dirname, 'outputs.json.br');

export function readOutputs(): readonly Output[] {
  return JSON.parse(brotliDecompressSync(readFileSync(CORPUS)).toString('utf8'));
}

/** Removes colours, and of a line that was overwritten with carriage returns everything but the last state. */
export function plain(text: string): string {
  return stripVTControlCharacters(text)
    .replace(/^.*\r(?!\n|$)/gm, '')
    .replaceAll('\r', '');
}

/** Lines without colours. Line 1 is the first. */
export function linesOf(text: string): string[] {
  return text.split('\n').map(plain);
}
