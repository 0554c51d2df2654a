import { deflateSync } from 'node:zlib';
import { crc32 } from '../../../src/base/hash.ts';
import { encodeUtf8 } from '../../../src/base/utf8.ts';
import type { Relay } from '../../../src/contract/relay.ts';

export const SURVEY = `# Checkout latency

The 95th percentile rose from **310 ms** to **1.9 s** on Monday at 09:40, after the release of the tax service.

## What was measured

| span | before | after |
|---|---|---|
| cart.load | 40 ms | 42 ms |
| tax.quote | 61 ms | 1 480 ms |
| payment.intent | 120 ms | 131 ms |

## What it is not

- not the database: its waits are as they were
- not the network: the same from inside the cluster

> The client of the tax service opens a connection per item since 4.2.

\`\`\`
relay pull 3f2a… --lines 40-80
\`\`\`
`;

const WORKER = `import { pool } from './pool.ts';

/** Quotes the tax of a cart over connections that are kept. */
export async function quote(cart: Cart): Promise<Quote> {
  const client = await pool.take({ timeout: 250 });
  try {
    // One request for all items: the service takes up to 500.
    return await client.post('/quotes', { items: cart.items.map(({ sku, amount }) => ({ sku, amount })) });
  } finally {
    pool.giveBack(client);
  }
}
`;

export const DIFF = `diff --git a/tax/client.ts b/tax/client.ts
index 4be1..9c02 100644
--- a/tax/client.ts
+++ b/tax/client.ts
@@ -12,9 +12,8 @@ export async function quote(cart: Cart) {
-  const quotes = [];
-  for (const item of cart.items) {
-    const client = await connect();
-    quotes.push(await client.post('/quote', item));
-  }
-  return quotes;
+  const client = await pool.take({ timeout: 250 });
+  return client.post('/quotes', { items: cart.items });
 }
`;

/** Fills a thread: an investigation by three agents, with an artifact of each kind. `pass` moves the clock. */
export async function fillThread(
  planner: Relay,
  researcher: Relay,
  reviewer: Relay,
  pass: (minutes: number) => Promise<void>,
): Promise<string> {
  const { thread_id: id } = await planner.threads.create({ name: 'Checkout latency' });
  const add = async (relay: Relay, path: string, value: object) => {
    await relay.threads.patch(id, { ops: [{ op: 'add', path: `/${path}/-`, value: value as never }] });
    await pass(7);
  };
  await add(planner, 'facts', { id: 'f1', key: 'service', value: 'checkout', by: 'planner' });
  await add(planner, 'constraints', {
    id: 'c1',
    description: 'No release before the load test has passed',
    severity: 'high',
    by: 'planner',
  });
  await add(planner, 'plan', { id: 'p1', step: 'Find the span that grew', status: 'done' });
  await add(planner, 'plan', { id: 'p2', step: 'Reuse connections to the tax service', status: 'running' });
  await add(planner, 'plan', { id: 'p3', step: 'Load test with 500 carts a second' });
  const put = async (relay: Relay, name: string, body: string | Uint8Array, mime?: string) => {
    await relay.threads.putArtifact(id, {
      name,
      mime,
      body: typeof body === 'string' ? encodeUtf8(body) : body,
    });
    await pass(5);
  };
  await put(researcher, 'survey.md', SURVEY, 'text/markdown');
  await add(researcher, 'facts', {
    id: 'f2',
    key: 'p95',
    value: '1.9 s since Monday 09:40',
    by: 'researcher',
  });
  await add(researcher, 'facts', {
    id: 'f3',
    key: 'slow span',
    value: 'tax.quote, 1 480 ms',
    by: 'researcher',
  });
  const rows = Array.from(
    { length: 300 },
    (_, at) => `2026-11-16T09:${String(at % 60).padStart(2, '0')},tax.quote,${60 + ((at * 37) % 1500)}`,
  );
  await put(researcher, 'spans.csv', ['minute,span,ms', ...rows].join('\n'), 'text/csv');
  await put(researcher, 'quote.ts', WORKER, 'text/plain');
  await put(reviewer, 'fix.diff', DIFF);
  await put(
    researcher,
    'trace.json',
    JSON.stringify({
      trace: 'a41f',
      spans: [{ name: 'tax.quote', ms: 1480, tags: { items: 24, reused: false } }],
    }),
    'application/json',
  );
  await put(researcher, 'p95.png', picture(), 'image/png');
  await put(
    researcher,
    'heap.bin',
    new Uint8Array(4_096).map((_, at) => (at * 7) % 256),
  );
  await add(reviewer, 'decisions', {
    id: 'd1',
    description: 'Keep connections in a pool of 16',
    confidence: 0.85,
    by: 'reviewer',
  });
  await add(reviewer, 'open_questions', {
    id: 'q1',
    question: 'Does the tax service close idle connections?',
  });
  await reviewer.threads.patch(id, { ops: [{ op: 'replace', path: '/plan/1/status', value: 'done' }] });
  for (const words of ['What is slow?', 'What should be done first?', 'Write the release note']) {
    await reviewer.threads.render(id, { format: 'anthropic', words });
    await pass(40);
  }
  return id;
}

/** A small picture of growing bars. */
function picture(): Uint8Array {
  const [width, height] = [120, 60];
  const rows: number[] = [];
  for (let y = 0; y < height; y++) {
    rows.push(0);
    for (let x = 0; x < width; x++)
      rows.push(...(y > height - 10 - (((x >> 3) * 13) % 45) ? [31, 95, 209] : [240, 243, 248]));
  }
  const chunk = (kind: string, data: Uint8Array) => {
    const body = Buffer.concat([Buffer.from(kind, 'latin1'), data]);
    const ends = Buffer.alloc(8);
    ends.writeUInt32BE(data.length, 0);
    ends.writeUInt32BE(crc32(body) >>> 0, 4);
    return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 2, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', head),
    chunk('IDAT', deflateSync(Uint8Array.from(rows))),
    chunk('IEND', new Uint8Array()),
  ]);
}
