import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ContextRelay } from '../../src/sdk/context-relay.ts';
import { startRelay } from '../http/relay-under-test.ts';

test('the SDK reads and writes files of a space', async () => {
  await using relay = await startRelay();
  const client = new ContextRelay({ baseUrl: relay.url });
  const notes = client.files.space('notes');
  const file = await notes.put('a/plan.json', JSON.stringify({ steps: ['one'] }), {
    metadata: { by: 'ada' },
  });
  assert.equal(file.version, 1);
  await assert.rejects(notes.put('a/plan.json', '{}', { ifAbsent: true }), { code: 'file_changed' });
  assert.deepEqual(await notes.json('a/plan.json'), { steps: ['one'] });
  const next = await notes.put('a/plan.json', new Blob(['{"steps":[]}'], { type: 'application/json' }), {
    ifMatch: file.version,
    ttl: 60,
  });
  assert.equal(next.content_type, 'application/json');
  assert.equal(await notes.text('a/plan.json', { json: '/steps/0' }, { version: 1 }), 'one');
  assert.equal(await new Response(await notes.stream('a/plan.json')).text(), '{"steps":[]}');
  assert.deepEqual([...(await notes.bytes('a/plan.json', { range: { start: 1, end: 3 } }))], [34, 115]);
  assert.deepEqual([await notes.exists('a/plan.json'), await notes.exists('b')], [true, false]);
  assert.equal((await notes.log('a/plan.json')).length, 2);
  assert.deepEqual((await notes.list({ delimiter: '/' })).prefixes, ['a/']);
  assert.deepEqual(await client.files.spaces(), ['notes']);
  await notes.delete('a/plan.json', { ifMatch: next.etag });
  await assert.rejects(notes.info('a/plan.json'), { code: 'not_found' });
});

test('many files are written, read and deleted in few requests', async () => {
  await using relay = await startRelay();
  const client = new ContextRelay({ baseUrl: relay.url });
  const space = client.files.space('many');
  const large = 'x'.repeat(900_000);
  const files = Array.from({ length: 1_100 }, (_, at) => ({ path: `f/${at}`, content: `${at}`, keep: 0 }));
  const binary = new Uint8Array([0, 255]);
  const larger = { path: 'larger', content: new Uint8Array(3_000_000).fill(65) };
  const drafts = [
    ...files,
    ...[1, 2, 3].map((at) => ({ path: `large/${at}`, content: large })),
    larger,
    { ...larger, ifAbsent: true },
    { path: 'binary', content: binary },
    { path: 'a//b', content: 'no' },
  ];
  const results = await space.write(drafts);
  assert.deepEqual(
    results.map(({ path }) => path),
    drafts.map(({ path }) => path),
  );
  assert.deepEqual(
    results.flatMap((file) => ('code' in file ? `${file.path} ${file.code}` : [])),
    ['larger file_changed', 'a//b bad_request'],
  );
  const paths = [
    ...files.map(({ path }) => path),
    'large/1',
    'large/2',
    'large/3',
    'larger',
    'binary',
    'gone',
  ];
  const contents = await space.read(paths);
  assert.equal(contents.size, paths.length - 1);
  assert.equal(contents.get('f/7')!.text(), '7');
  assert.equal(contents.get('large/3')!.bytes.length, large.length);
  assert.equal(contents.get('larger')!.bytes.length, 3_000_000);
  assert.deepEqual(contents.get('binary')!.bytes, binary);
  let count = 0;
  for await (const { path } of space.all({ prefix: 'f/' })) count += Number(path.startsWith('f/'));
  assert.equal(count, files.length);
  assert.equal(await space.remove({ prefix: 'f/' }), files.length);
  assert.equal(await space.remove({ paths: ['large/1', 'gone'] }), 1);
});
