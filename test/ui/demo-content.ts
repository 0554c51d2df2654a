import { deflateSync } from 'node:zlib';
import { crc32 } from '../../src/base/crc32.ts';
import { encodeUtf8 } from '../../src/base/utf8.ts';
import { LOCAL_CALLER } from '../../src/contract/caller.ts';
import type { Relay } from '../../src/contract/relay.ts';
import { ContextRelay } from '../../src/public/index.ts';
import type { RelayUnderTest } from '../http/relay-under-test.ts';

/** What the pages of the dashboard are about in the tests, as a few agents would have left it. */
export interface DemoContent {
  readonly thread: string;
  readonly other: string;
  readonly run: string;
  /** Encrypted; with its key. */
  readonly secret: string;
  readonly once: string;
  readonly task: string;
}

/** The relay as an agent of this name sees it. */
export function asAgent({ core, url }: Pick<RelayUnderTest, 'core' | 'url'>, name: string): Relay {
  return core.relay({ ...LOCAL_CALLER, name }, url);
}

const SURVEY = `# Checkout latency

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

const DIFF = `diff --git a/tax/client.ts b/tax/client.ts
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

export async function fillDemo(relay: RelayUnderTest): Promise<DemoContent> {
  const [planner, researcher, reviewer] = ['planner', 'researcher', 'reviewer'].map((name) =>
    asAgent(relay, name),
  ) as [Relay, Relay, Relay];
  const thread = await fillThread(planner, researcher, reviewer);
  const { thread_id: other } = await planner.threads.create({ name: 'Checkout latency, second look' });
  await reviewer.threads.patch(other, {
    ops: [
      { op: 'add', path: '/facts/-', value: { id: 'f1', key: 'service', value: 'checkout', by: 'planner' } },
      {
        op: 'add',
        path: '/facts/-',
        value: { id: 'f2', key: 'p95 after the fix', value: '298 ms', by: 'reviewer' },
      },
    ],
  });
  for (const name of [
    'Release notes 4.3',
    'Invoice parser',
    'Onboarding e-mails',
    'Flaky tests of the importer',
  ])
    await planner.threads.create({ name });
  const { secret, once } = await fillPointers(relay, researcher, reviewer);
  const task = await fillTasks(relay, planner);
  const run = await fillRun(planner);
  return { thread, other, run, secret, once, task };
}

async function fillThread(planner: Relay, researcher: Relay, reviewer: Relay): Promise<string> {
  const { thread_id: id } = await planner.threads.create({ name: 'Checkout latency' });
  const add = (relay: Relay, path: string, value: object) =>
    relay.threads.patch(id, { ops: [{ op: 'add', path: `/${path}/-`, value: value as never }] });
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
  const put = (relay: Relay, name: string, body: string | Uint8Array, mime?: string) =>
    relay.threads.putArtifact(id, { name, mime, body: typeof body === 'string' ? encodeUtf8(body) : body });
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
  for (const words of ['What is slow?', 'What should be done first?', 'Write the release note'])
    await reviewer.threads.render(id, { format: 'anthropic', words });
  return id;
}

async function fillPointers(relay: RelayUnderTest, researcher: Relay, reviewer: Relay) {
  const client = new ContextRelay({ baseUrl: relay.url });
  const push = (from: Relay, channel: string, data: string, metadata: object) =>
    from.pointers.push({
      body: encodeUtf8(data),
      channel,
      metadata: metadata as never,
      content_type: 'text/plain',
      count: true,
    });
  await push(researcher, 'reviews', SURVEY, {
    summary: 'Survey of the checkout latency',
    filename: 'survey.md',
  });
  await push(reviewer, 'reviews', DIFF, { summary: 'The fix, for review', filename: 'fix.diff' });
  await push(researcher, 'reviews', 'a longer report\n'.repeat(400), { summary: 'Load test, raw output' });
  for (const [at, msg] of [
    'main is green',
    'release 4.3 is out',
    'main is red: importer',
    'main is green',
  ].entries())
    await (at % 2 ? reviewer : researcher).channels.publish('builds', msg);
  const secret = await client.push('The pool is in tax/pool.ts, the password in the vault.', {
    encrypted: true,
    metadata: { summary: 'Where things are' },
  });
  const once = await client.push('read once: deploy token rotated', {
    maxPulls: 1,
    metadata: { summary: 'Burns after reading' },
  });
  return { secret, once };
}

async function fillTasks(relay: RelayUnderTest, planner: Relay): Promise<string> {
  const send = async (text: string) =>
    (
      await planner.pointers.push({
        body: encodeUtf8(text),
        channel: 'agent-tasks',
        metadata: { summary: text, done_channel: 'agent-done' },
      })
    ).id;
  const done = await send('Refactor the tax client and run its tests');
  const failed = await send('Upgrade the importer to the new schema');
  await send('Write the load test for 500 carts a second');
  const agent = asAgent(relay, 'claude-laptop');
  await agent.tasks.done(done, { data: 'All 214 tests pass.', summary: 'Refactored; 214 tests pass' });
  await agent.tasks.fail(failed, { summary: 'The schema file is not in the repository' });
  const bridge = {
    runner: 'exec',
    done_channel: 'agent-done',
    concurrency: 1,
    done: 12,
    failed: 1,
    started_at: new Date().toISOString(),
  };
  await agent.agents.beat('claude-laptop', {
    ...bridge,
    instance: 'a1',
    target: 'claude -p',
    task_channel: 'agent-tasks',
    running: [],
  });
  await agent.agents.beat('codex-server', {
    ...bridge,
    instance: 'b2',
    runner: 'tmux',
    target: 'codex:0',
    task_channel: 'agent-tasks',
    running: [],
  });
  await agent.inbox.follow('notebook', 'reviews');
  return done;
}

/** A run as the log of a pipeline has it: two steps done, one at work, one that waits. */
async function fillRun(planner: Relay): Promise<string> {
  const { thread_id: run } = await planner.threads.create({ name: 'pipeline code-review' });
  const text = `name: code-review
agents:
  say: { shell: true }
steps:
  - { id: read, agent: say, prompt: echo read }
  - { id: security, agent: say, needs: [read], prompt: echo security }
  - { id: style, agent: say, needs: [read], prompt: echo style }
  - { id: merge, agent: say, needs: [security, style], prompt: echo merge }
`;
  const record = (type: string, payload: object) => planner.threads.record(run, type, payload as never);
  await record('pipeline.started', {
    pipeline: 'code-review',
    text,
    hash: 'ab'.repeat(32),
    inputs: { branch: 'main' },
    graph: [
      { id: 'read', agent: 'say', needs: [] },
      { id: 'security', agent: 'say', needs: ['read'] },
      { id: 'style', agent: 'say', needs: ['read'] },
      { id: 'merge', agent: 'say', needs: ['security', 'style'] },
    ],
  });
  for (const step of ['read', 'security']) {
    await record('step.started', { step, attempt: 1 });
    await planner.threads.putArtifact(run, {
      name: `${step}.md`,
      mime: 'text/markdown',
      body: encodeUtf8(`# ${step}\n\nNothing to complain about.\n`),
      source_refs: [`step:${step}`],
    });
    await record('step.done', { step, attempts: 1, duration_ms: step === 'read' ? 1_240 : 8_450 });
  }
  await record('step.started', { step: 'style', attempt: 1 });
  return run;
}

/** A small picture: bars that grow. */
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
