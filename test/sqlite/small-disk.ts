import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmdirSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/**
 * Mounts a small disk in memory for one test. If that is not possible, skips the test and returns null.
 */
export function smallDisk(t: TestContext, size = '3m'): string | null {
  const disk = mkdtempSync(join(tmpdir(), 'relay-disk-'));
  const mount = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', disk], {
    encoding: 'utf8',
  });
  t.after(() => {
    if (mount.status === 0 && spawnSync('umount', [disk]).status !== 0) spawnSync('umount', ['-l', disk]);
    rmdirSync(disk);
  });
  if (mount.status === 0) return disk;
  t.skip(`a small disk cannot be mounted here: ${mount.error?.message ?? mount.stderr.trim()}`);
  return null;
}

/** Fills the disk to its last page. */
export function fillUp(disk: string): void {
  const file = openSync(join(disk, 'filler'), 'a');
  try {
    for (;;) writeSync(file, Buffer.alloc(4096));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  } finally {
    closeSync(file);
  }
}
