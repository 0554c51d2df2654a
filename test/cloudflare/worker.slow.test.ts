import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startWorker } from '../../scripts/cloudflare/local-worker.ts';
import { CHANNEL_NAME_CHARS } from '../../src/base/limits.ts';
import { ContextRelay } from '../../src/sdk/context-relay.ts';
import { until } from '../until.ts';

/** The relay as a Worker in a real workerd, used through the real clients. */

let worker: Awaited<ReturnType<typeof startWorker>>;
let relay: ContextRelay;

before(async () => {
  worker = await startWorker();
  relay = new ContextRelay({ baseUrl: worker.url });
});
after(() => worker.stop());

test('payloads can be pushed and pulled: complete, in part, encrypted and large', async () => {
  const lines = Array.from({ length: 100 }, (_, i) => `line ${i + 1}`).join('\n');
  const url = await relay.push(lines, { metadata: { summary: 'lines' } });
  assert.equal(await relay.pull(url), lines);
  assert.equal(await relay.pull(url, { lines: '10-11' }), 'line 10\nline 11');
  assert.match(await relay.pull(url, { grep: 'line 9\\d' }), /line 99/);
  assert.deepEqual(await relay.peek(url), { summary: 'lines' });
  assert.ok((await relay.cost(url)).tokens > 100);
  const secret = await relay.push('for your eyes', { encrypted: true });
  assert.match(secret, /#key=/);
  assert.equal(await relay.pull(secret), 'for your eyes');
  const large = crypto.getRandomValues(new Uint8Array(65_536));
  const bytes = new Uint8Array(25 * 1024 * 1024).map((_, i) => large[(i * 31 + (i >> 16)) & 65_535]!);
  const kept = await relay.push(bytes);
  assert.deepEqual(Buffer.compare(await relay.pullBytes(kept), bytes), 0);
  const range = await fetch(kept, {
    headers: { Accept: 'application/octet-stream', Range: 'bytes=7000000-7000009' },
  });
  assert.equal(range.status, 206);
  assert.deepEqual(new Uint8Array(await range.arrayBuffer()), bytes.slice(7_000_000, 7_000_010));
});

test('payloads of sizes around every storage threshold come back unchanged', async () => {
  // The sizes cover a row, a payload read at once, a streamed payload, and a multipart upload to the bucket.
  for (const size of [512 * 1024, 512 * 1024 + 1, 1024 * 1024 + 1, 5 * 1024 * 1024, 5 * 1024 * 1024 + 1]) {
    const text = Array.from({ length: size / 8 + 1 }, (_, i) => `${i}\t"`.padStart(8, 'é')).join('');
    const sent = text.slice(0, size);
    for (const body of [sent, JSON.stringify({ data: sent, metadata: { size } })]) {
      const type = body === sent ? 'text/plain' : 'application/json';
      const pushed = await fetch(`${worker.url}/push`, {
        method: 'POST',
        headers: { 'Content-Type': type },
        body,
      });
      const { url } = (await pushed.json()) as { url: string };
      const envelope = (await (await fetch(url)).json()) as { data: string };
      assert.ok(envelope.data === sent, `${size} as ${type}, in an envelope`);
      assert.ok((await (await fetch(`${url}?raw=1`)).text()) === sent, `${size} as ${type}, as bytes`);
    }
  }
});

test('revoked, used-up and missing pointers are not found', async () => {
  const url = await relay.push('once', { maxPulls: 1 });
  assert.equal(await relay.pull(url), 'once');
  await assert.rejects(relay.pull(url), { code: 'not_found' });
  const gone = await relay.push('gone');
  await relay.delete(gone);
  await assert.rejects(relay.pull(gone), { code: 'not_found' });
});

test('a subscriber gets a push, resumes at its position, and is served after an eviction', async () => {
  const heard: string[] = [];
  const subscription = relay.subscribe(
    'news',
    (message) => void heard.push(message.url ?? String(message.msg)),
  );
  await subscription.ready;
  const url = await relay.push('first', { channel: 'news' });
  await until(() => heard.length === 1);
  assert.deepEqual(heard, [url]);
  await relay.publish('news', 'second');
  await until(() => heard.length === 2);
  subscription.close();
  const replayed: unknown[] = [];
  const again = relay.subscribe('news', (message) => void replayed.push(message.msg ?? 'pointer'), {
    since: 'all',
  });
  await until(() => replayed.length === 2);
  assert.deepEqual(replayed, ['pointer', 'second']);
  again.close();
});

test('channels with very long names are separate, and so are their groups', async (t) => {
  const names = ['🐋', '🐳'].map((last) => 'ж'.repeat(CHANNEL_NAME_CHARS - 2) + last);
  const heard = names.map((): unknown[] => []);
  for (const [i, name] of names.entries()) {
    const note = ({ msg }: { msg?: unknown }) => void heard[i]!.push(msg);
    for (const o of [{}, { group: 'g' }]) {
      const subscription = relay.subscribe(name, note, o);
      t.after(() => subscription.close());
      await subscription.ready;
    }
  }
  for (const [i, name] of names.entries()) await relay.publish(name, i);
  await until(() => heard.every((of) => of.length === 2));
  assert.deepEqual(heard, [
    [0, 0],
    [1, 1],
  ]);
});

test('a group shares messages under leases, and an acknowledged message is not delivered again', async () => {
  const done: string[] = [];
  const subscription = relay.subscribe('work', (message) => void done.push(String(message.msg)), {
    group: 'workers',
  });
  for (const task of ['a', 'b', 'c']) await relay.publish('work', task);
  await until(() => done.length === 3);
  assert.deepEqual(done, ['a', 'b', 'c']);
  subscription.close();
  const { groups } = await relay.channels.inspect('work');
  assert.equal(groups[0]!.name, 'workers');
  await until(async () => (await relay.channels.inspect('work')).groups[0]!.backlog === 0);
});

test('a thread is patched, read at any version, searched and reported on', async () => {
  const thread = await relay.threads.create({ name: 'a walk' });
  await thread.patch([{ op: 'add', path: '/facts/-', value: { id: 'f1', key: 'port', value: '7474' } }]);
  const { version } = await thread.patch([
    { op: 'add', path: '/facts/-', value: { id: 'f2', key: 'host', value: 'edge' } },
  ]);
  assert.equal(version, 3);
  assert.equal((await thread.state({ at: 'v2' })).facts.length, 1);
  const artifact = await thread.artifacts.put('# Notes\n\nThe whale is white.', {
    name: 'notes.md',
    type: 'markdown',
  });
  assert.match(artifact.preview.text, /whale/);
  assert.equal((await thread.artifacts.search('white whales'))[0]!.ref, artifact.ref);
  assert.ok((await Array.fromAsync(thread.events())).length >= 4);
});

test('files are stored, replaced with an expected version, listed and deleted', async () => {
  const notes = relay.files.space('notes');
  const first = await notes.put('a/b.md', 'one');
  await notes.put('a/b.md', 'two', { ifMatch: first.etag });
  await assert.rejects(notes.put('a/b.md', 'three', { ifMatch: first.etag }), { code: 'file_changed' });
  assert.equal(await notes.text('a/b.md'), 'two');
  assert.deepEqual(
    (await notes.log('a/b.md')).map(({ version }) => version),
    [2, 1],
  );
  await notes.delete('a/b.md');
  assert.equal(await notes.exists('a/b.md'), false);
});
