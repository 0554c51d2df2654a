import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemEnv } from '../../src/base/env.ts';
import { ACTIVITY_BATCH, ACTIVITY_WRITES_KEPT } from '../../src/base/limits.ts';
import type { Activity, SpendingRow } from '../../src/contract/activity.ts';
import { LOCAL_CALLER, SCOPES } from '../../src/contract/caller.ts';
import { ActivityLog } from '../../src/domain/activity/activity-log.ts';
import { openMemory } from '../../src/engines/memory/engine.ts';
import { httpRelay } from '../../src/sdk/http-relay.ts';
import { pushJson, startRelay } from '../http/relay-under-test.ts';
import { startGuarded } from '../keys/guarded-relay.ts';
import { sqlite } from '../keys/stored-bytes.ts';
import { until } from '../until.ts';

const kinds = (all: readonly Activity[]) => all.map(({ kind }) => kind);

test('activity is listed newest first, with names but without payloads', async () => {
  await using relay = await startRelay();
  const api = httpRelay({ baseUrl: relay.url });
  const { answer } = await pushJson(relay, {
    data: 'the-payload',
    channel: 'news',
    metadata: { summary: 'the-metadata' },
  });
  await api.channels.publish('news', 'the-signal');
  const { thread_id } = await api.threads.create({ name: 'plan' });
  await api.threads.patch(thread_id, { ops: [{ op: 'add', path: '/session_summary', value: 'the-state' }] });
  await api.threads.delete(thread_id);
  await api.pointers.delete(answer.id);
  const { activities } = await api.activity.list();
  assert.deepEqual(kinds(activities), [
    'pointer.revoked',
    'thread.deleted',
    'thread.patched',
    'thread.created',
    'channel.signal',
    'pointer.pushed',
  ]);
  const pushed = activities.at(-1)!;
  assert.deepEqual(
    { ...pushed, id: '', at: '' },
    {
      ...{
        id: '',
        at: '',
        kind: 'pointer.pushed',
        by: 'local',
        pointer: answer.id,
        channel: 'news',
        size: 11,
      },
      handle: answer.handle,
    },
  );
  assert.equal(activities[2]!.version, 2);
  assert.equal(activities[2]!.thread, thread_id);
  assert.doesNotMatch(JSON.stringify(activities), /the-/);
});

test('a read that counts is an activity, and a read that no model sees is not', async () => {
  await using relay = await startRelay();
  const api = httpRelay({ baseUrl: relay.url });
  const { thread_id } = await api.threads.create({ name: 'plan' });
  const { ref } = await api.threads.putArtifact(thread_id, { body: new TextEncoder().encode('one\ntwo') });
  const pulled = (all: readonly { type?: string }[]) =>
    all.filter(({ type }) => type === 'artifact.pulled').length;
  for (const counted of [false, true]) {
    const { body } = await api.threads.content(thread_id, ref, { counted });
    assert.equal(await new Response(body as BodyInit).text(), 'one\ntwo');
    await api.threads.part(thread_id, ref, { lines: '1', counted });
  }
  await until(async () => pulled((await api.threads.events(thread_id)).events) === 4);
  assert.equal(pulled((await api.activity.list()).activities), 2);
});

test('pages by cursor contain every activity once, also those of one write', async () => {
  await using relay = await startRelay();
  const api = httpRelay({ baseUrl: relay.url });
  for (let i = 0; i < 5; i++)
    await Promise.all(Array.from({ length: 6 }, (_, j) => api.channels.publish('c', { i, j })));
  const ids: string[] = [];
  for (let after: string | undefined; ; ) {
    const page = await api.activity.list({ after, limit: 7 });
    ids.push(...page.activities.map(({ id }) => id));
    if (page.next === undefined) break;
    after = page.next;
  }
  assert.equal(ids.length, 30);
  assert.equal(new Set(ids).size, 30);
  assert.equal((await fetch(`${relay.url}/activity?after=x`)).status, 400);
});

test('a watcher gets new activities, and resumes after the last one it has seen', async () => {
  await using relay = await startRelay();
  const api = httpRelay({ baseUrl: relay.url });
  await api.channels.publish('c', 'before');
  const stop = new AbortController();
  const states: string[] = [];
  const entries: Activity[] = [];
  const watching = (async () => {
    for await (const entry of api.activity.watch({ signal: stop.signal, state: (s) => states.push(s) }))
      entries.push(entry);
  })();
  await until(() => states.length > 0);
  await api.channels.publish('c', 'one');
  await until(() => entries.length === 1);
  stop.abort();
  await watching;
  await api.channels.publish('c', 'two');
  await api.channels.publish('c', 'three');
  const again = new AbortController();
  const later: Activity[] = [];
  for await (const entry of api.activity.watch({ after: entries[0]!.id, signal: again.signal })) {
    later.push(entry);
    if (later.length === 2) break;
  }
  again.abort();
  assert.deepEqual(states, ['live']);
  assert.deepEqual([entries[0]!.seq, ...later.map(({ seq }) => seq)].length, 3);
  assert.equal(new Set([entries[0]!.seq, ...later.map(({ seq }) => seq)]).size, 3);
});

test('a watcher reports when its server goes away, and resumes when it is back', async () => {
  const relay = await startRelay();
  const port = Number(new URL(relay.url).port);
  const api = httpRelay({ baseUrl: relay.url });
  const stop = new AbortController();
  const states: string[] = [];
  const entries: Activity[] = [];
  const watching = (async () => {
    for await (const entry of api.activity.watch({ signal: stop.signal, state: (s) => states.push(s) }))
      entries.push(entry);
  })();
  await until(() => states.includes('live'));
  await relay.stop();
  await until(() => states.includes('lost'));
  const { engine } = relay;
  await using back = await startRelay({ open: () => engine, server: { port } });
  await httpRelay({ baseUrl: back.url }).channels.publish('c', 'x');
  await until(() => entries.length === 1);
  stop.abort();
  await watching;
  assert.deepEqual(states, ['live', 'lost', 'live']);
});

test('a key sees only the activity that it may read', async () => {
  await using relay = await startGuarded({ core: { defaultPlan: 'team' } });
  const all = await relay.key({ scopes: [...SCOPES] });
  await relay.ask('POST', '/push?channel=mine.a', { key: all, body: 'x' });
  await relay.ask('POST', '/push?channel=other', { key: all, body: 'x' });
  await relay.ask('POST', '/push', { key: all, body: 'x' });
  await relay.ask('POST', '/threads', { key: all, body: {} });
  const listed = async (key: Awaited<ReturnType<typeof relay.key>>) => {
    const { json } = await relay.ask('GET', '/activity', { key });
    return (json.activities as Activity[]).map(({ kind, channel }) => `${kind} ${channel ?? ''}`.trim());
  };
  const pushes = ['pointer.pushed', 'pointer.pushed other', 'pointer.pushed mine.a'];
  assert.deepEqual(await listed(all), ['thread.created', ...pushes, 'key.created']);
  assert.deepEqual(await listed(await relay.key({ scopes: ['subscribe'] })), pushes.slice(1));
  const bound = await relay.key({ scopes: ['subscribe', 'pull', 'push', 'tasks'], channel_prefix: 'mine.' });
  assert.deepEqual(await listed(bound), ['pointer.pushed mine.a']);
  const stranger = await relay.key({ tenant: 'other', scopes: ['subscribe', 'threads', 'pull'] });
  assert.deepEqual(await listed(stranger), []);
});

test('activity shows tasks from sending to result, and bridges as they start and stop', async () => {
  await using relay = await startRelay();
  const api = httpRelay({ baseUrl: relay.url });
  const bridge = {
    instance: 'one',
    runner: 'exec',
    target: 'true',
    task_channel: 'agent-tasks',
    done_channel: 'agent-done',
    concurrency: 1,
    running: [],
    done: 0,
    failed: 0,
    started_at: '2026-01-01T00:00:00Z',
  };
  await api.agents.beat('ann', bridge);
  await api.agents.beat('ann', bridge);
  const { answer } = await pushJson(relay, {
    data: 'do it',
    channel: 'agent-tasks',
    metadata: { done_channel: 'agent-done' },
  });
  const stop = new AbortController();
  const local = relay.core.relay(LOCAL_CALLER, relay.url);
  for await (const { seq, token } of local.channels.subscribe('agent-tasks', {
    group: 'bridges',
    signal: stop.signal,
  })) {
    await local.channels.ack('agent-tasks', 'bridges', { seq, token: token! });
    break;
  }
  stop.abort();
  // On a Worker, another process writes the next entry. Flush first, so that the order is fixed.
  await relay.core.deps.activity.flush();
  await api.tasks.done(answer.id, { summary: 'did it' });
  await api.agents.leave('ann', 'one');
  await until(async () => (await api.activity.list()).activities.length >= 6);
  const activities = (await api.activity.list()).activities.filter(({ kind }) => kind !== 'pointer.pulled');
  assert.deepEqual(kinds(activities).reverse(), [
    'agent.came',
    'task.sent',
    'task.claimed',
    'group.acked',
    'task.done',
    'agent.left',
  ]);
  assert.ok(
    activities.filter(({ kind }) => kind.startsWith('task.')).every(({ task }) => task === answer.id),
  );
});

test('activities beyond the batch limit are counted as left out, and a slow store delays no caller', async () => {
  const engine = openMemory({ env: systemEnv });
  const slow = Promise.withResolvers<void>();
  const stuck = {
    ...engine,
    records: engine.records,
    logs: {
      info: engine.logs.info.bind(engine.logs),
      append: async (...args: Parameters<typeof engine.logs.append>) => {
        await slow.promise;
        return engine.logs.append(...args);
      },
    },
  } as unknown as typeof engine;
  const log = new ActivityLog({ engine: stuck, env: systemEnv });
  for (let i = 0; i < 10_000; i++) {
    log.note('t', { kind: 'channel.signal', by: 'me', channel: 'c' });
    if (i === 10) await new Promise((resolve) => setTimeout(resolve, 5));
  }
  slow.resolve();
  await log.flush();
  const { entries } = await engine.logs.read('act.t');
  const batches = entries.map(({ data }) => data as unknown as { items: unknown[]; left_out?: number });
  assert.ok(batches.every(({ items }) => items.length <= ACTIVITY_BATCH));
  const sum = batches.reduce((all, { items, left_out = 0 }) => all + items.length + left_out, 0);
  assert.equal(sum, 10_000);
});

test('activities that were not written because the store failed are written later', async () => {
  const engine = openMemory({ env: systemEnv });
  let fails = true;
  const failing = {
    ...engine,
    records: engine.records,
    logs: {
      info: engine.logs.info.bind(engine.logs),
      append: async (...args: Parameters<typeof engine.logs.append>) => {
        if (fails) throw new Error('no');
        return engine.logs.append(...args);
      },
    },
  } as unknown as typeof engine;
  const log = new ActivityLog({ engine: failing, env: systemEnv });
  log.note('t', { kind: 'channel.signal', by: 'me', channel: 'c' });
  await log.flush();
  fails = false;
  log.note('t', { kind: 'channel.signal', by: 'me', channel: 'c' });
  await log.flush();
  const { entries } = await engine.logs.read('act.t');
  assert.equal(entries.length, 1);
  assert.equal((entries[0]!.data as unknown as { items: unknown[] }).items.length, 2);
});

test('activities are listed even if many other writes happened in between', async () => {
  await using relay = await startRelay({ open: sqlite() });
  const api = httpRelay({ baseUrl: relay.url });
  await api.channels.publish('c', 'x');
  await api.activity.list();
  for (let i = 0; i < 4_000; i += 500)
    await Promise.all(Array.from({ length: 500 }, (_, j) => relay.engine.records.put(`x.y/${i + j}`, 1)));
  await api.channels.publish('c', 'y');
  const { activities } = await api.activity.list();
  assert.deepEqual(
    activities.map(({ kind }) => kind),
    ['channel.signal', 'channel.signal'],
  );
});

test('trimming the log keeps its totals, and a reader that resumes too late is notified of the gap', async () => {
  await using relay = await startRelay();
  const api = httpRelay({ baseUrl: relay.url });
  await api.channels.publish('c', 'x');
  const { activities } = await api.activity.list();
  const { engine } = relay;
  const item = { kind: 'channel.signal', by: 'me', at: 1 };
  for (let i = 0; i < ACTIVITY_WRITES_KEPT + 200; i++)
    await engine.logs.append('act.local', { items: [item], figures: { signals: 1 } });
  let published = 1;
  await until(async () => {
    await api.channels.publish('c', 'y');
    published++;
    await api.activity.list();
    return (await engine.logs.info('act.local')).count <= ACTIVITY_WRITES_KEPT + 64;
  });
  // Add a count in the format of earlier versions.
  const hour = new Date(engine.now()).toISOString().slice(0, 13);
  await engine.records.put(`ten.local/figures/${hour}/signals`, 7);
  const { points } = await api.activity.figures({ hours: 2 });
  const signals = points.reduce((sum, point) => sum + point.signals, 0);
  assert.equal(signals, ACTIVITY_WRITES_KEPT + 200 + published + 7);
  const stop = new AbortController();
  for await (const entry of api.activity.watch({ after: activities[0]!.id, signal: stop.signal })) {
    assert.equal(entry.kind, 'gap');
    break;
  }
  stop.abort();
});

test('figures per hour and day include the activities that were left out of the log', async () => {
  await using relay = await startRelay();
  const api = httpRelay({ baseUrl: relay.url });
  await Promise.all(Array.from({ length: 200 }, () => pushJson(relay, { data: '12345' })));
  const { thread_id } = await api.threads.create();
  await api.threads.record(thread_id, 'prompt.answered', { prompt_tokens: 40, pasted_tokens: 100 });
  await relay.core.sweepStore();
  const { points, method } = await api.activity.figures({ hours: 3 });
  assert.equal(points.length, 3);
  const sum = (what: 'pushes' | 'pushed_bytes' | 'prompts' | 'pasted_tokens' | 'shown_tokens') =>
    points.reduce((all, point) => all + point[what], 0);
  assert.equal(sum('pushes'), 200);
  assert.equal(sum('pushed_bytes'), 1000);
  assert.deepEqual([sum('prompts'), sum('pasted_tokens'), sum('shown_tokens')], [1, 100, 40]);
  assert.equal(points.find(({ prompts }) => prompts > 0)!.avoided_tokens, 60);
  assert.equal(points[0]!.avoided_tokens, null);
  assert.ok(points.some(({ storage_bytes }) => storage_bytes !== null));
  assert.match(method, /pasting/);
  relay.advance(48 * 3600_000);
  const days = (await api.activity.figures({ hours: 24 * 4, step: 'day' })).points;
  assert.ok(days.length >= 4 && days.length <= 5);
  assert.equal(
    days.reduce((all, { pushes }) => all + pushes, 0),
    200,
  );
});

test('spending is summed by day, thread, agent, model and project, with the configured prices', async () => {
  const prices = { date: '2026-11-01', currency: 'USD', models: { m1: { input: 3, output: 15 } } };
  await using relay = await startRelay({ core: { prices } });
  const api = httpRelay({ baseUrl: relay.url });
  const { thread_id } = await api.threads.create();
  const answered = (model: string) =>
    api.threads.record(thread_id, 'prompt.answered', {
      ...{ model, project: 'shop', prompt_tokens: 100, pasted_tokens: 900 },
      ...{ billed_input: 120, billed_output: 30, billed_cached_input: 20 },
    });
  for (const model of ['m1', 'm1', 'm2']) await answered(model);
  const report = await api.activity.spending({ days: 1 });
  assert.deepEqual(report.prices, prices);
  assert.deepEqual(
    report.rows.map(({ model, prompts, input_tokens, cached_input_tokens, output_tokens, shown_tokens }) => [
      ...[model, prompts, input_tokens, cached_input_tokens, output_tokens, shown_tokens],
    ]),
    [
      ['m1', 2, 240, 40, 60, 200],
      ['m2', 1, 120, 20, 30, 100],
    ],
  );
  const [{ thread, agent, project }] = report.rows as [SpendingRow];
  assert.deepEqual([thread, agent, project], [thread_id, 'local', 'shop']);
});
