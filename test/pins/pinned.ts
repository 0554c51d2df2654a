import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Pin files contain the observable behaviour as literals. To accept a change of the product, run
 * `UPDATE_PINS=1 node --test test/pins/*.test.ts && npm run format`, and read the difference before you commit it.
 */

const UPDATING = process.env.UPDATE_PINS === '1';

/** Returns the text of a pin file. With UPDATE_PINS=1, writes `found` to the file and returns it. */
export function pinnedText(name: string, actual: string): string {
  const path = join(import.meta.dirname, name);
  if (UPDATING) writeFileSync(path, actual);
  return readFileSync(path, 'utf8');
}

/** Compares the parts one by one, so that a failure names the part. The order of keys matters, white space does not. */
export function assertPinnedJson(name: string, actual: { readonly [part: string]: unknown }): void {
  const pinned = JSON.parse(pinnedText(name, jsonOf(actual))) as { [part: string]: unknown };
  assert.deepEqual(Object.keys(actual), Object.keys(pinned), `the parts of test/pins/${name}`);
  for (const [part, value] of Object.entries(actual)) {
    assert.equal(jsonOf(value), jsonOf(pinned[part]), `${part} differs from test/pins/${name}`);
  }
}

function jsonOf(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
