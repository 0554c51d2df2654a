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

/** The output of a program, in which paths, user, host and dates of the machine are replaced. */
export interface Output {
  readonly name: string;
  readonly kind: Kind;
  /** The command as a reader would type it. If a script imitates a program, this is the imitated command. */
  readonly command: string;
  readonly text: string;
}

export const CORPUS = join(import.meta.dirname, 'outputs.json.br');

export function readOutputs(): readonly Output[] {
  return JSON.parse(brotliDecompressSync(readFileSync(CORPUS)).toString('utf8'));
}

/** Removes colours. If a line was overwritten with carriage returns, keeps only its last state. */
export function plain(text: string): string {
  return stripVTControlCharacters(text)
    .replace(/^.*\r(?!\n|$)/gm, '')
    .replaceAll('\r', '');
}

/** Returns the lines without colours. The first one is line 1 in the questions. */
export function linesOf(text: string): string[] {
  return text.split('\n').map(plain);
}
