/**
 * Creates the fixture test/fixtures/worker-v1: a store of a Worker before 0.3 with all kinds of data. `node
 * test/cloudflare/make-former-store.ts URL ADMIN_KEY` fills a Worker and prints what a test has to find. The fixture was
 * created by a Worker of commit 2c9b38c6 and is never created again.
 */
import { ContextRelay } from '../../src/sdk/context-relay.ts';

const [url, admin] = process.argv.slice(2) as [string, string];
const MB_TEXT = 'All happy relays are alike.\n'.repeat(40_000);

async function json(path: string, key: string, body: unknown, method = 'POST') {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const answer = await fetch(url + path, { method, headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return answer.json() as Promise<{ [name: string]: string }>;
}

async function fill(tenant: string) {
  const { key = '' } = await json('/keys', admin, { name: 'ann', tenant });
  const relay = new ContextRelay({ baseUrl: url, apiKey: key });
  const idOf = (pointer: string) => /pull\/([^#?]+)/.exec(pointer)![1]!;
  const small = idOf(await relay.push(`small of ${tenant}`, { channel: 'news', metadata: { summary: 's' } }));
  const large = idOf(await relay.push(MB_TEXT));
  const once = idOf(await relay.push('twice', { maxPulls: 2 }));
  await relay.pull(`${url}/pull/${once}`);
  for (let i = 0; i < 130; i++) await relay.publish('many', { i });
  const done: unknown[] = [];
  const member = relay.subscribe('work', ({ msg }) => void done.push(msg), { group: 'g' });
  await relay.publish('work', 'acknowledged');
  while (done.length < 1) await new Promise((resolve) => setTimeout(resolve, 50));
  await new Promise((resolve) => setTimeout(resolve, 500));
  await member.close();
  await relay.publish('work', 'waiting');
  const thread = await relay.threads.create({ name: `thread of ${tenant}` });
  await thread.patch([{ op: 'add', path: '/facts/-', value: { id: 'f', key: 'tenant', value: tenant } }]);
  const { ref } = await thread.artifacts.put(`# Notes\n\nThe whale of ${tenant} is white.\n`, {
    name: 'notes.md',
    type: 'markdown',
  });
  await relay.files.space('notes').put('a/b.md', 'one');
  await relay.files.space('notes').put('a/b.md', `two of ${tenant}`);
  const { token = '' } = await json('/shares', key, { thread_id: thread.id });
  return { key, small, large, once, thread: thread.id, ref, token };
}

const tenants = { local: await fill('local'), acme: await fill('acme') };
// Receipts and activity are written shortly after the answers.
await new Promise((resolve) => setTimeout(resolve, 3_000));
console.log(JSON.stringify({ now: Date.now(), admin, tenants }, null, 2));
