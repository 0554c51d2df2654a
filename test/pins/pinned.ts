import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The files beside the tests hold what others can observe, as literals. A change of the product is written into them by
 * `UPDATE_PINS=1 node --test test/pins/*.test.ts && npm run format`; read the difference before it is committed.
 */
const UPDATING = process.env.UPDATE_PINS === '1';

/** The text of such a file; with UPDATE_PINS=1 it is what was found, and written there. */
export function pinnedText(name: string, found: string): string {
  const path = join(import.meta.dirname, name);
  if (UPDATING) writeFileSync(path, found);
  return readFileSync(path, 'utf8');
}

/** Compares part by part, so that a failure names the part. The order of keys counts, the layout of the file does not. */
export function assertPinnedJson(name: string, found: { readonly [part: string]: unknown }): void {
  const pinned = JSON.parse(pinnedText(name, shown(found))) as { [part: string]: unknown };
  assert.deepEqual(Object.keys(found), Object.keys(pinned), `the parts of test/pins/${name}`);
  for (const [part, value] of Object.entries(found)) {
    assert.equal(shown(value), shown(pinned[part]), `${part} differs from test/pins/${name}`);
  }
}

function shown(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
