import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

/**
 * Test data that is not part of the project: `RELAY_TEST_DATA` names a folder that holds it, and .ci/run sets it where it
 * has one. Returns the path of one entry, or the reason to skip.
 */
export function extraData(entry: string): { readonly path: string } | { readonly missing: string } {
  const folder = process.env.RELAY_TEST_DATA;
  if (!folder) return { missing: 'RELAY_TEST_DATA names no folder with extra test data' };
  const path = resolve(folder, entry);
  return existsSync(path) ? { path } : { missing: `RELAY_TEST_DATA has no ${entry}` };
}
