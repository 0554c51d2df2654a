import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Env, systemEnv } from './env.ts';
import { isUuid, timeOrderedId, toHex, uuid, uuidFrom } from './ids.ts';

const still: Env = {
  now: () => 0x0198_0000_00ff,
  randomBytes: (length) => new Uint8Array(length).fill(0xff),
};

test('a uuid is version 4 whatever its bytes are', () => {
  assert.equal(uuid(still), 'ffffffff-ffff-4fff-bfff-ffffffffffff');
  assert.equal(uuidFrom(new Uint8Array(16)), '00000000-0000-4000-8000-000000000000');
  const counting = Uint8Array.from({ length: 20 }, (_, i) => i);
  assert.equal(uuidFrom(counting), '00010203-0405-4607-8809-0a0b0c0d0e0f');
  assert.deepEqual(
    counting,
    Uint8Array.from({ length: 20 }, (_, i) => i),
    'the bytes given are left alone',
  );
});

test('two uuids are never the same', () => {
  const ids = new Set(Array.from({ length: 1000 }, () => uuid(systemEnv)));
  assert.equal(ids.size, 1000);
  for (const id of ids) assert.ok(isUuid(id));
});

test('only a complete uuid is accepted', () => {
  const id = '0f8fad5b-d9cb-469f-a165-70867728950e';
  assert.ok(isUuid(id));
  assert.ok(isUuid(id.toUpperCase()));
  for (const other of [
    '',
    `${id} `,
    `${id}\n`,
    ` ${id}`,
    id.slice(1),
    id.replaceAll('-', ''),
    `${id}0`,
    `{${id}}`,
  ]) {
    assert.ok(!isUuid(other), JSON.stringify(other));
  }
});

test('hex has two lowercase digits per byte', () => {
  assert.equal(toHex(new Uint8Array()), '');
  assert.equal(toHex(Uint8Array.of(0, 1, 15, 16, 171, 255)), '00010f10abff');
});

test('a time-ordered id has 26 hex digits and sorts by time', () => {
  assert.equal(timeOrderedId(still), `0198000000ff${'ff'.repeat(7)}`);
  const times = [0, 1, 15, 16, 255, 256, 1_700_000_000_000, 1_700_000_000_001, 2 ** 47];
  const ids = times.map((time) => timeOrderedId({ ...systemEnv, now: () => time }));
  for (const id of ids) assert.match(id, /^[0-9a-f]{26}$/);
  assert.deepEqual([...ids].sort(), ids);
});
