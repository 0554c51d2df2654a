import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { withFileLock } from './project-lock.ts';

let folder: string;
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'relay-lock-'));
});
after(() => rmSync(folder, { recursive: true, force: true }));

test('waiting for a stale lock does not block the event loop, and ends with a timeout', async () => {
  const lock = join(folder, '.lock');
  // Simulate a process that could not write to a full disk: its lock file is empty.
  writeFileSync(lock, '');
  const longAgo = new Date(Date.now() - 3_600_000);
  utimesSync(lock, longAgo, longAgo);
  writeFileSync(`${lock}.break`, '');
  let turns = 0;
  const timer = setInterval(() => turns++, 1);
  const waiting = withFileLock(lock, { folder, waitMs: 300 }, async () => {});
  await assert.rejects(waiting, { code: 'project_locked' });
  clearInterval(timer);
  assert.ok(turns > 1, `${turns} turns`);
});

test('a stale lock is broken if the lock for breaking it is stale too', async () => {
  const lock = join(folder, '.other');
  for (const file of [lock, `${lock}.break`]) {
    writeFileSync(file, '');
    const longAgo = new Date(Date.now() - 3_600_000);
    utimesSync(file, longAgo, longAgo);
  }
  assert.equal(await withFileLock(lock, { folder, waitMs: 10_000 }, async () => 'done'), 'done');
  assert.ok(!existsSync(lock) && !existsSync(`${lock}.break`));
});
