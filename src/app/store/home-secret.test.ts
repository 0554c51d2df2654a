import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { homeSecret } from './home-secret.ts';

test('the secret of a home is made once, for its owner alone, and a damaged one is refused', async (t) => {
  const root = mkdtempSync(join(tmpdir(), 'relay-secret-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const home = join(root, 'home');
  const [one, other] = await Promise.all([homeSecret(home)(), homeSecret(home)()]);
  assert.equal(one.length, 32);
  assert.deepEqual(one, other);
  assert.notDeepEqual(one, await homeSecret(join(root, 'another'))());
  assert.deepEqual(readdirSync(home), ['frame-secret']);
  assert.equal(statSync(join(home, 'frame-secret')).mode & 0o777, 0o600);
  writeFileSync(join(home, 'frame-secret'), '');
  await assert.rejects(homeSecret(home)(), /frame-secret is damaged/);
});
