import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { killWhileCopying } from './killing.ts';

test('a copy is complete although it is killed again and again', async (t) => {
  const home = mkdtempSync(join(tmpdir(), 'relay-killed-copy-'));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  await killWhileCopying(home, {
    from: join(home, 'a'),
    to: (n) => join(home, `to-${n}`),
    kills: 10,
    scale: 300,
  });
});
