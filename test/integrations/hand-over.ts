import assert from 'node:assert/strict';
import { appendFileSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { LargeResultOptions } from '../../src/integrations/large-results.ts';
import { countTokens } from '../token-count.ts';
import { LARGE_LOG, NEEDLE } from './scene.ts';

/** The answer of agent A: 60 KB with one important line. python/tests/integrations/hand_over.py uses the same text. */
export const RESULT = `${LARGE_LOG.slice(0, 59_000)}\n${NEEDLE}`;
export const QUESTION = 'Why was payment 4711 refused?';

/**
 * Runs agent B with a tool that returns `result`. Returns the next prompt, which contains the result or a pointer to
 * it.
 */
type PromptWith = (result: string, options: LargeResultOptions) => Promise<unknown>;

/**
 * Counts the tokens of agent B's prompt, once with the result pasted and once with a pointer. Asserts that both
 * counts are about those in docs/integrations/README.md. If HAND_OVER_FILE is set, appends the counts to this file
 * instead.
 */
export async function assertHandOver(page: string, promptWith: PromptWith): Promise<void> {
  const pasted = countTokens(textsIn(await promptWith(RESULT, { maxBytes: 1e9 }))).tokens;
  const prompt = textsIn(await promptWith(RESULT, {}));
  assert.ok(prompt.includes(NEEDLE) && prompt.includes('/pull/'), prompt.slice(0, 500));
  const passed = countTokens(prompt).tokens;
  const file = process.env.HAND_OVER_FILE;
  if (file) return appendFileSync(file, `${JSON.stringify({ page, pasted, passed })}\n`);
  const table = readFileSync(resolve(import.meta.dirname, '../../docs/integrations/README.md'), 'utf8');
  const row = new RegExp(`^\\| \\[[^|]*\\]\\(${page}\\.md\\).*$`, 'm').exec(table)?.[0];
  assert.ok(row, `${page} is not in the table`);
  const figures = row
    .split('|')
    .at(-2)!
    .split('→')
    .map((cell) => Number(cell.replaceAll(' ', '')));
  const near = [pasted, passed].every((is, at) => Math.abs(figures[at]! - is) <= is / 10);
  assert.ok(near, `the page says ${figures.join(' and ')}, but it is ${pasted} and ${passed}`);
}

/** Returns all strings in a JSON value, so that the JSON syntax of a prompt is not counted. */
function textsIn(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return '';
  return Object.values(value).map(textsIn).filter(Boolean).join('\n');
}
