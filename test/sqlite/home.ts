import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/** Creates a folder that is deleted after the test. */
export function temporaryHome(t: TestContext): string {
  const home = mkdtempSync(join(tmpdir(), 'relay-sqlite-'));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

/** Returns the content of every file below the folder, keyed by path. */
export function contents(folder: string): Record<string, string> {
  const hashes: Record<string, string> = {};
  for (const path of filesIn(folder)) {
    hashes[path] = createHash('sha256')
      .update(readFileSync(join(folder, path)))
      .digest('hex');
  }
  return hashes;
}

/** Returns the total size of the files below the folder, in bytes. */
export function sizeOf(folder: string): number {
  return filesIn(folder).reduce((sum, path) => sum + statSync(join(folder, path)).size, 0);
}

export function filesIn(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => statSync(join(folder, name)).isFile()).sort();
}
