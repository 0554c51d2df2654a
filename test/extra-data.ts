import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

/**
 * Test data outside of the project. `RELAY_TEST_DATA` names its folder, and .ci/run sets it if there is one. Returns
 * the path of an entry, or the reason to skip.
 */
export function extraData(entry: string): { readonly path: string } | { readonly missing: string } {
  const folder = process.env.RELAY_TEST_DATA;
  if (!folder) return { missing: 'RELAY_TEST_DATA names no folder with extra test data' };
  const path = resolve(folder, entry);
  return existsSync(path) ? { path } : { missing: `RELAY_TEST_DATA has no ${entry}` };
}
