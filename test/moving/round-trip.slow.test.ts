import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { loadConfig } from '../../src/app/config.ts';
import { copyStore, type OpenStore, openPlace } from '../../src/app/store/engine-copy.ts';
import { openCore } from '../../src/app/store/open-core.ts';
import { readBytes } from '../../src/base/byte-streams.ts';
import { LOCAL_CALLER } from '../../src/contract/caller.ts';
import { openNats } from '../../src/engines/nats/engine.ts';
import { findNatsServer, startCluster } from '../nats/cluster.ts';
import { answerTo, type Fixture } from '../pins/store-answers.ts';
import { type ServedHome, serveEngine, serveHome, unpackFolder } from '../pins/store-home.ts';
import { opened, readWholeStore, SILENT } from './stores.ts';

/**
 * Folder with homes of earlier versions and their expected answers (see test/pins). The homes contain all kinds of
 * data.
 */
const FIXTURES = resolve(import.meta.dirname, '../fixtures');
const FIXTURE: Fixture = JSON.parse(readFileSync(join(FIXTURES, 'store-v1.json'), 'utf8'));
const natsServer = await findNatsServer();

test('a home is copied to a cluster and back, and gives the same answers on each', async (t) => {
  if ('missing' in natsServer) return t.skip(natsServer.missing);
  const folder = mkdtempSync(join(tmpdir(), 'relay-round-trip-'));
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));
  const [first, last] = [join(folder, 'first'), join(folder, 'last')];
  for (const home of [first, last]) mkdirSync(home);
  unpackFolder(readFileSync(join(FIXTURES, 'store-v1.home.gz')), first);
  copyFileSync(join(first, 'config.json'), join(last, 'config.json'));
  await using cluster = await startCluster({ nodes: 1, fsync: false });
  const url = `${cluster.url}/t${randomUUID().slice(0, 8)}`;
  const openCluster = async () => opened(await openNats({ url }), 'the cluster');
  t.mock.timers.enable({ apis: ['Date'], now: FIXTURE.now });
  const shared = await shareThread(first);
  const before = await copyAndCompare(openPlace(first, 'source'), openCluster());
  assert.deepEqual(await copyAndCompare(openCluster(), openPlace(last, 'target')), before);
  await t.test('the cluster gives the same answers', async () => {
    const { engine } = await openCluster();
    await engine.moving.thaw();
    await answersAll(await serveEngine(first, engine));
  });
  await t.test('the home gives the same answers after copying back', async () => {
    assert.deepEqual(await sharedThread(last), shared);
    await answersAll(await serveHome(last));
  });
});

const GLOBEX = { ...LOCAL_CALLER, tenant: 'globex' };

/** Copies a thread of the old home to another tenant, so that the home has threads in the old and new key format. */
async function shareThread(home: string) {
  {
    await using store = await openCore(loadConfig({ RELAY_HOME: home }), 'cli');
    const { body } = await store.core.relay(LOCAL_CALLER, '').threads.export(FIXTURE.names.thread!);
    await store.core.relay(GLOBEX, '').threads.import(body);
  }
  const shared = await sharedThread(home);
  assert.ok(shared.contents.length > 0);
  return shared;
}

async function sharedThread(home: string) {
  await using store = await openCore(loadConfig({ RELAY_HOME: home }), 'cli');
  const { threads } = store.core.relay(GLOBEX, '');
  const id = FIXTURE.names.thread!;
  const { artifacts } = await threads.artifacts(id, { counted: false });
  const contents = [];
  for (const { ref } of artifacts) {
    const { body } = await threads.content(id, ref, { counted: false });
    contents.push(await readBytes(body));
  }
  return { artifacts, contents, state: await threads.state(id, { counted: false }) };
}

/** Copies a store, asserts that both are equal, and returns the content. */
async function copyAndCompare(opening: Promise<OpenStore>, target: Promise<OpenStore>) {
  await using from = await opening;
  await using to = await target;
  await copyStore(from, to, SILENT);
  const everything = await readWholeStore(to.engine);
  assert.deepEqual(everything, await readWholeStore(from.engine));
  assert.ok(Object.keys(everything).length > 100);
  return everything;
}

async function answersAll(opening: ServedHome): Promise<void> {
  await using served = opening;
  for (const [i, { answer, ...planned }] of FIXTURE.asked.entries()) {
    const { as, about, method = 'GET', path } = planned;
    const actual = await answerTo(served, FIXTURE.keys, planned);
    assert.deepEqual(actual, answer, `${i}, ${about}: ${method} ${path} as ${as}`);
  }
  assert.deepEqual(
    served.log.filter(({ event }) => event !== 'store'),
    [],
  );
}
