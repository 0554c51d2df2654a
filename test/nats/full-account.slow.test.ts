import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, type TestContext, test } from 'node:test';
import { connect } from '@nats-io/transport-node';
import { LOCAL_CALLER } from '../../src/contract/caller.ts';
import { openNats } from '../../src/engines/nats/engine.ts';
import { pushRaw, type RelayUnderTest, startRelay, type Wire } from '../http/relay-under-test.ts';
import { until } from '../until.ts';
import { type Cluster, findNatsServer, startCluster } from './cluster.ts';

const natsServer = await findNatsServer();
const skip = 'missing' in natsServer ? natsServer.missing : false;

const MB = 1024 * 1024;
const ACCOUNT_BYTES = 48 * MB;
const BODY = new Uint8Array(200_000).fill(120);

let cluster: Cluster;

before(async () => {
  if (!skip) cluster = await startCluster({ fsync: false, accountBytes: ACCOUNT_BYTES });
});
after(() => cluster?.[Symbol.asyncDispose]());

/** Returns the address of a new store. Empties the account after the test. */
function newStore(t: TestContext): string {
  const name = `t${randomUUID().slice(0, 8)}`;
  t.after(async () => {
    await using api = await jetStream();
    const streams = ['records', 'logs', 'blobs', 'documents'].map((kind) => `${name}-${kind}`);
    for (const stream of ['other', ...streams]) await api.ask(`STREAM.DELETE.${stream}`);
    await until(async () => (await api.ask('INFO')).storage < MB);
  });
  return `${cluster.url}/${name}`;
}

/** Connects a NATS client to the same account. */
async function jetStream() {
  const nats = await connect({ servers: cluster.nodes.map(({ address }) => address) });
  const request = async (subject: string, body: string | Uint8Array) =>
    (await nats.request(subject, body, { timeout: 10_000 })).json() as Wire;
  return {
    ask: (what: string, body: object = {}) => request(`$JS.API.${what}`, JSON.stringify(body)),
    publish: (subject: string, bytes: number) => request(subject, new Uint8Array(bytes)),
    [Symbol.asyncDispose]: () => nats.close(),
  };
}

const startOn = (url: string): Promise<RelayUnderTest> =>
  startRelay({ open: (env) => openNats({ url, env }), server: { auth: 'open' } });

const ask = async (url: string, method = 'GET') => {
  const response = await fetch(url, { method });
  const text = await response.text();
  return { status: response.status, text, body: (text.startsWith('{') ? JSON.parse(text) : null) as Wire };
};

/** Pushes until a push is rejected. Returns the stored ids and the rejection. */
async function fill(
  relay: RelayUnderTest,
  body = BODY,
): Promise<{ ids: string[]; refused: Response; answer: Wire }> {
  const ids: string[] = [];
  for (;;) {
    const { response, answer } = await pushRaw(relay, body);
    if (response.status !== 200) return { ids, refused: response, answer };
    ids.push(answer.id);
  }
}

/** Creates data to delete: a file, an artifact, a thread and a key. */
async function createDeletable(relay: RelayUnderTest) {
  const own = relay.core.relay(LOCAL_CALLER, relay.url);
  const body = new TextEncoder().encode('something to delete');
  await own.files.put('space', 'a.txt', { body });
  await own.files.put('space', 'a.txt', { body: new TextEncoder().encode('a second version') });
  const thread = await own.threads.create({ name: 'kept' });
  const artifact = await own.threads.putArtifact(thread.thread_id, { body, name: 'a.txt' });
  const doomed = await own.threads.create({ name: 'doomed' });
  await own.threads.putArtifact(doomed.thread_id, { body, name: 'b.txt' });
  const key = await own.keys.create({ name: 'laptop' });
  await relay.settle();
  return { own, thread, artifact, doomed, key };
}

type Deletable = Awaited<ReturnType<typeof createDeletable>>;

/** Deletes everything whose deletion needs no free storage. */
async function deleteMost({ own, thread, doomed, key }: Deletable): Promise<void> {
  await own.files.delete('space', 'a.txt');
  await own.threads.delete(doomed.thread_id);
  await own.keys.revoke(key.id);
  assert.deepEqual((await own.files.list('space')).files, []);
  const { threads } = await own.threads.list();
  assert.deepEqual(
    threads.map(({ thread_id }) => thread_id),
    [thread.thread_id],
  );
}

/** Deletes an artifact. This writes a record and an event, which need a little free storage. */
async function deleteArtifact({ own, thread, artifact }: Deletable): Promise<void> {
  await own.threads.deleteArtifact(thread.thread_id, artifact.ref);
  assert.deepEqual((await own.threads.search(thread.thread_id, 'something')).hits, []);
}

test('a full account rejects pushes with 507, and everything can still be deleted', {
  skip,
}, async (t) => {
  const url = newStore(t);
  await using relay = await startOn(url);
  const furnished = await createDeletable(relay);
  const { ids, refused, answer } = await fill(relay);
  assert.equal(refused.status, 507, JSON.stringify(answer));
  assert.equal(answer.code, 'store_full');
  assert.match(answer.error, /storage limit/);
  assert.match(answer.hint, /relay prune/);
  assert.ok(ids.length * BODY.length * 3 > ACCOUNT_BYTES / 2, `${ids.length} found room`);
  // The space of a rejected body is freed a moment later. Fill this space with small bodies.
  await until(async () => {
    ids.push(...(await fill(relay, BODY.subarray(0, 5_000))).ids);
    const { status, body } = await ask(`${relay.url}/ready`);
    assert.equal(status, 200, 'people must be able to reach it to delete');
    if (body.writable !== false) return false;
    assert.match(body.warnings.join(), /storage limit/);
    assert.equal((await ask(`${relay.url}/health`)).body.status, 'ok');
    const { text } = await ask(`${relay.url}/metrics`);
    // Try again later: the metrics of the store are computed in the background and may be some seconds old.
    if (!(gauge(text, 'relay_store_quota_used_bytes') > 0.8 * ACCOUNT_BYTES)) return false;
    assert.equal(gauge(text, 'relay_store_quota_bytes'), ACCOUNT_BYTES);
    return gauge(text, 'relay_store_writable') === 0;
  });

  assert.equal((await ask(`${relay.url}/pull/${ids[0]}`)).status, 200);
  await deleteMost(furnished);
  await deleteArtifact(furnished);
  await relay.core.sweepStore([LOCAL_CALLER.tenant]);
  for (const id of ids) assert.equal((await ask(`${relay.url}/pull/${id}`, 'DELETE')).status, 204);
  await until(async () => (await pushRaw(relay, BODY)).response.status === 200);
  await until(async () => {
    const { writable, warnings } = (await ask(`${relay.url}/ready`)).body;
    return writable === undefined && warnings === undefined;
  });
});

test('a server can delete data when it starts in an account that another program has filled', {
  skip,
}, async (t) => {
  const url = newStore(t);
  const ids: string[] = [];
  let furnished: Deletable;
  {
    await using relay = await startOn(url);
    furnished = await createDeletable(relay);
    for (let i = 0; i < 20; i++) ids.push((await pushRaw(relay, BODY)).answer.id);
  }
  await fillAccount();
  await using relay = await startOn(url);
  furnished = { ...furnished, own: relay.core.relay(LOCAL_CALLER, relay.url) };
  const { response, answer } = await pushRaw(relay, BODY);
  assert.equal(response.status, 507, JSON.stringify(answer));
  assert.equal((await ask(`${relay.url}/ready`)).body.writable, false);
  await until(() => relay.log.some(({ message }) => /storage limit/.test(String(message))));
  await deleteMost(furnished);
  await relay.core.sweepStore([LOCAL_CALLER.tenant]);
  for (const id of ids) assert.equal((await ask(`${relay.url}/pull/${id}`, 'DELETE')).status, 204);
  await until(() =>
    deleteArtifact(furnished).then(
      () => true,
      (error) => {
        assert.equal(error.code, 'store_full');
        return false;
      },
    ),
  );
});

test('relay prune frees expired data in a full account', { skip }, async (t) => {
  const url = newStore(t);
  {
    await using engine = await openNats({ url });
    for (let i = 0; i < 10; i++) await engine.blobs.put(`x/${i}`, BODY, { expiresAt: engine.now() + 1 });
    await engine.records.put('x/r', 1, { expiresAt: engine.now() + 1 });
    for (let i = 0; i < 20; i++) await engine.logs.append('x', 'y'.repeat(50_000));
  }
  await fillAccount();
  await using pruning = await openNats({ url, role: 'cli' });
  const { blobs, records } = await pruning.sweep();
  assert.deepEqual({ blobs, records }, { blobs: 10, records: 1 });
  const { last } = await pruning.logs.info('x');
  await pruning.logs.trim('x', { before: last });
  const { entries, gap } = await pruning.logs.read('x');
  assert.deepEqual([entries.length, gap], [1, true]);
  const { state } = (await pruning.connection.api(`STREAM.INFO.${url.split('/').at(-1)}-blobs`))!;
  assert.equal((state as { messages: number }).messages, 0);
});

/** Fills the account to the last byte from a stream of another program. */
async function fillAccount(): Promise<void> {
  await using api = await jetStream();
  const config = { name: 'other', subjects: ['other.>'], storage: 'file', num_replicas: 3 };
  await until(async () => (await api.ask('STREAM.CREATE.other', config)).error === undefined);
  // Nodes exchange their usage every 1.5 s. Without a pause the writes would go far beyond the limit.
  const roomLeft = async () => ACCOUNT_BYTES - (await api.ask('INFO')).storage;
  for (let room = await roomLeft(); room > 100_000; room = await roomLeft()) {
    for (let left = (0.8 * room) / 3; left > 0; left -= 500_000)
      await api.publish('other.x', Math.ceil(Math.min(left, 500_000)));
    await new Promise((resolve) => setTimeout(resolve, 2_000));
  }
  for (let refusals = 0; refusals < 20; ) {
    const { error } = await api.publish('other.x', 100);
    if (error === undefined) continue;
    assert.equal(error.err_code, 10002);
    refusals++;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function gauge(text: string, name: string): number {
  return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1]);
}
