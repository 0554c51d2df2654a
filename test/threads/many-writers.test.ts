import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startServer } from '../../src/app/serve/serve.ts';
import { httpRelay } from '../../src/sdk/http-relay.ts';
import { mirrored, openLocal, startPatcher, temporaryHome } from './local-store.ts';

test('eight processes and eight HTTP clients patch one thread at once, and every patch is applied', async (t) => {
  const home = temporaryHome(t);
  await using store = await openLocal(home);
  const { thread_id: thread } = await store.threads.create({ name: 'busy' });
  const server = await startServer({
    core: store.core,
    host: '127.0.0.1',
    port: 0,
    version: 'test',
    publicUrl: null,
    allowedHosts: [],
    log: () => {},
  });
  const count = 12;
  const processes = Array.from({ length: 8 }, (_, i) =>
    startPatcher({ home, thread, name: `process${i}`, count }),
  );
  const clients = Array.from({ length: 8 }, async (_, i) => {
    const { threads } = httpRelay({ baseUrl: server.url });
    const versions: number[] = [];
    for (let n = 0; n < count; n++) {
      const value = { id: `client${i}-${n}`, key: `client${i}`, value: n };
      versions.push((await threads.patch(thread, { ops: [{ op: 'add', path: '/facts/-', value }] })).version);
    }
    return versions;
  });
  const versions = (await Promise.all([...processes.map((one) => one.versions), ...clients])).flat();
  assert.deepEqual(
    versions.toSorted((a, b) => a - b),
    Array.from({ length: 16 * count }, (_, i) => i + 2),
  );
  const state = await store.threads.state(thread);
  assert.equal(state.version, 16 * count + 1);
  const expected = [...Array(8).keys()].flatMap((i) =>
    [...Array(count).keys()].flatMap((n) => [`process${i}-${n}`, `client${i}-${n}`]),
  );
  assert.deepEqual(state.facts.map(({ id }) => id).toSorted(), expected.toSorted());
  assert.equal((await store.threads.replay(thread)).matches, true);
  await server.stop();
  await (await store.core.threads()).log.settle();
  const files = mirrored(home, thread);
  assert.equal(JSON.stringify(files.state), JSON.stringify(state), 'state.json equals the fold');
  assert.deepEqual(files.events, (await store.threads.events(thread)).events, 'events.log equals the log');
});
