import assert from 'node:assert/strict';
import { after, before, mock, test } from 'node:test';
import { LARGE_LOG, pointerIn, type Scene, startScene } from '../../test/integrations/scene.ts';
import { EntryLog } from './entry-log.ts';
import { KeptPointers } from './kept-pointers.ts';
import { LargeResults } from './large-results.ts';

const DAY = 24 * 3600;

let scene: Scene;
before(async () => {
  scene = await startScene();
});
after(() => scene[Symbol.asyncDispose]());

/** Returns the seconds until a pointer expires. */
const left = async (url: string) =>
  (Date.parse((await scene.relay.inspect(url)).expires_at!) - Date.now()) / 1000;

test('pointers in an entry live at least as long as the entry', async () => {
  const files = scene.relay.files.space('kept');
  const ttl = 30 * DAY;
  const log = new EntryLog<string>(files, 'talk/', { ttl, pointers: new KeptPointers(scene.relay, ttl) });
  const urls = [await scene.relay.push('one'), await scene.relay.push('two', { encrypted: true })];
  await log.append([`see ${urls[0]}`, `and "${urls[1]}"`, 'https://elsewhere.example/pull/not-an-id']);
  const [entry] = (await files.list({ prefix: 'talk/' })).files;
  for (const url of urls) {
    const { expires_at } = await scene.relay.inspect(url);
    assert.ok(expires_at! >= entry!.expires_at!, `${expires_at} is before ${entry!.expires_at}`);
  }
});

test('entries that are kept until they are deleted keep their pointers for years', async () => {
  const url = await scene.relay.push('one');
  await new KeptPointers(scene.relay).keep(`see ${url}`);
  assert.ok((await left(url)) > 3600 * DAY);
});

test('a pointer is renewed from time to time, and not each time it is mentioned', async () => {
  const renew = mock.method(scene.relay, 'renew');
  const pointers = new KeptPointers(scene.relay, 10 * DAY);
  const url = await scene.relay.push('one');
  for (let i = 0; i < 3; i++) await pointers.keep(`see ${url}`);
  assert.equal(renew.mock.callCount(), 1);
  const foreign = 'http://127.0.0.1:1/pull/00000000-0000-4000-8000-000000000000';
  for (let i = 0; i < 3; i++) await pointers.keep(foreign);
  assert.equal(renew.mock.callCount(), 2, 'one that the relay does not know is asked for once');
  mock.timers.enable({ apis: ['Date'], now: Date.now() + 5 * DAY * 1000 });
  await pointers.keep(`see ${url}`);
  assert.equal(renew.mock.callCount(), 3);
  assert.ok((await left(url)) >= 10 * DAY);
  mock.timers.reset();
  renew.mock.restore();
});

test('a pointer that is reused for an equal result gets a new expiry and stays the same', async () => {
  const first = await new LargeResults(scene.relay).replaceText(LARGE_LOG, 'read_log');
  mock.timers.enable({ apis: ['Date'], now: Date.now() + 20 * 3600 * 1000 });
  const again = await new LargeResults(scene.relay).replaceText(LARGE_LOG, 'read_log');
  assert.equal(again, first);
  assert.ok((await left(pointerIn(again))) >= DAY);
  mock.timers.reset();
});

test('a result that is shown again hours later in the same process is also renewed', async () => {
  const results = new LargeResults(scene.relay);
  const first = await results.replaceText(`${LARGE_LOG}\n`, 'read_log');
  mock.timers.enable({ apis: ['Date'], now: Date.now() + 23 * 3600 * 1000 });
  assert.equal(await results.replaceText(`${LARGE_LOG}\n`, 'read_log'), first);
  assert.ok((await left(pointerIn(first))) >= DAY);
  mock.timers.reset();
});

test('a text is stored even if its pointers cannot be renewed', async () => {
  const warned = mock.method(console, 'warn', () => {});
  const renewing = mock.method(scene.relay, 'renew', () => Promise.reject(new Error('no route')));
  const pointers = new KeptPointers(scene.relay, DAY);
  const log = new EntryLog<string>(scene.relay.files.space('kept'), 'old/', { ttl: DAY, pointers });
  const url = await scene.relay.push('one');
  for (const n of [1, 2]) await log.append([`${n} ${url}`]);
  assert.deepEqual(await log.read(), [`1 ${url}`, `2 ${url}`]);
  assert.equal(warned.mock.callCount(), 1, 'it says so once');
  warned.mock.restore();
  renewing.mock.restore();
});
