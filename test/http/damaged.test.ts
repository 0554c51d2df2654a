import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openSqlite } from '../../src/engines/sqlite/engine.ts';
import { damageBody } from '../sqlite/damage.ts';
import { pushRaw, type RelayUnderTest, startRelay } from './relay-under-test.ts';

const home = mkdtempSync(join(tmpdir(), 'relay-damaged-'));
let relay: RelayUnderTest;
before(async () => {
  relay = await startRelay({
    open: (env) => openSqlite({ home, env, role: 'server', durability: 'process' }),
  });
});
after(async () => {
  await relay[Symbol.asyncDispose]();
  rmSync(home, { recursive: true });
});

/** Sizes stored in a database row, in a segment, and in a separate file. */
const SIZES = [500, 50_000, 3_000_000];

const bodyOf = (size: number, fill = 'x') => `${'a line of text\n'.repeat(size / 15 - 1)}`.padEnd(size, fill);

/** Flips a bit of a stored payload. A second call flips the bit back. */
async function damage(id: string, at: number): Promise<void> {
  const { items } = await relay.engine.blobs.list(`ptr.${id}/`);
  damageBody(home, items[0]!.key, at);
}

for (const size of SIZES) {
  test(`a damaged payload of ${size} bytes answers 500 to every kind of read, and disturbs no others`, async () => {
    const { answer } = await pushRaw(relay, bodyOf(size));
    const other = await pushRaw(relay, bodyOf(size));
    await damage(answer.id, 3);
    for (const [query, headers] of [
      ['', {}],
      ['?raw=1', {}],
      ['?raw=1', { Range: 'bytes=0-9' }],
      ['?lines=1-2', {}],
      ['?grep=line', {}],
      ['?lines=1-2&cost=1', {}],
    ] as const) {
      const response = await fetch(answer.url + query, { headers });
      const { code, error } = JSON.parse(await response.text());
      assert.deepEqual([response.status, code], [500, 'store_damaged'], query);
      assert.ok(!error.includes(home), 'no path of the machine');
    }
    const { status, headers } = await fetch(answer.url.replace('/pull/', '/peek/'));
    assert.deepEqual([status, headers.get('relay-size')], [200, String(size)]);
    assert.equal(await (await fetch(`${other.answer.url}?raw=1`)).text(), bodyOf(size));
    assert.equal((await fetch(answer.url, { method: 'DELETE' })).status < 300, true);
  });

  test(`a damaged payload of ${size} bytes consumes no max_pulls, wherever the damage is`, async () => {
    for (const at of [0, size >> 1, size - 1]) {
      // Use a different payload each time, because the server caches bodies that it has read.
      const body = bodyOf(size, String(at % 7));
      const { answer } = await pushRaw(relay, body, '?max_pulls=1');
      await damage(answer.id, at);
      for (const key of [undefined, 'again', 'again']) {
        const headers = key ? { 'Idempotency-Key': key } : undefined;
        const response = await fetch(`${answer.url}?raw=1`, { headers });
        assert.deepEqual([response.status, (await response.json()).code], [500, 'store_damaged']);
      }
      await damage(answer.id, at);
      assert.equal(await (await fetch(`${answer.url}?raw=1`)).text(), body);
      assert.equal((await fetch(`${answer.url}?raw=1`)).status, 404, 'that one counted');
    }
  });
}

test('a payload damaged in the middle is sent up to the damage, and then the response breaks off', async () => {
  const { answer } = await pushRaw(relay, bodyOf(3_000_000));
  await damage(answer.id, 2_000_000);
  const response = await fetch(`${answer.url}?raw=1`);
  assert.equal(response.status, 200);
  await assert.rejects(response.text());
  const early = await fetch(`${answer.url}?raw=1`, { headers: { Range: 'bytes=0-99999' } });
  assert.equal(await early.text(), bodyOf(3_000_000).slice(0, 100_000));
  const around = await fetch(`${answer.url}?raw=1`, { headers: { Range: 'bytes=2000001-2000005' } });
  assert.equal(around.status, 500);
});
