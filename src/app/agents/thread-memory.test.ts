import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openThreadMemory } from './thread-memory.ts';

const home = mkdtempSync(join(tmpdir(), 'relay-memory-'));
after(() => rmSync(home, { recursive: true, force: true }));
const A = '550e8400-e29b-41d4-a716-446655440000';
const B = '650e8400-e29b-41d4-a716-446655440000';

test('the last used thread is remembered separately for each relay', async () => {
  const local = openThreadMemory(home, null);
  const far = openThreadMemory(home, 'https://relay.example');
  assert.equal(local.get(), undefined);
  await local.set(A);
  await far.set(B);
  assert.deepEqual([local.get(), far.get()], [A, B]);
  if (process.platform !== 'win32')
    assert.equal(statSync(join(home, 'current-thread.json')).mode & 0o777, 0o600);
  await local.forget(B);
  assert.equal(local.get(), A);
  await local.forget(A);
  assert.deepEqual([local.get(), far.get()], [undefined, B]);
});

test('a file with invalid content is ignored', async () => {
  const local = openThreadMemory(home, null);
  for (const text of ['not json', '[]', '{"local": "../../etc/passwd"}', '{"local": 7}']) {
    writeFileSync(join(home, 'current-thread.json'), text);
    assert.equal(local.get(), undefined);
  }
  await local.set(A);
  assert.equal(local.get(), A);
});
