import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

/**
 * Returns the path of an entry in the folder with optional test data, or the reason to skip the test. RELAY_TEST_DATA
 * names the folder. .ci/run sets it if the folder exists.
 */
export function extraData(entry: string): { readonly path: string } | { readonly missing: string } {
  const folder = process.env.RELAY_TEST_DATA;
  if (!folder) return { missing: 'RELAY_TEST_DATA names no folder with extra test data' };
  const path = resolve(folder, entry);
  return existsSync(path) ? { path } : { missing: `RELAY_TEST_DATA has no ${entry}` };
}
