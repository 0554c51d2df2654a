import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openThreads, stoppedClock, text } from '../../../test/threads/open-threads.ts';
import { isRelayError } from '../../base/errors.ts';
import type { PatchOp } from '../../formats/json-patch/apply.ts';

const fact = (id: string): PatchOp => ({ op: 'add', path: '/facts/-', value: { id, key: 'k', value: 'v' } });

describe("a thread's events", () => {
  it('say what happened, oldest first, and by whom', async () => {
    const { as } = openThreads();
    const api = as('ada');
    const { thread_id } = await api.create({ name: 'n' });
    await api.patch(thread_id, { ops: [fact('f1')] });
    const { ref } = await api.putArtifact(thread_id, { body: text('x'), name: 'x.txt' });
    await api.report(thread_id, { format: 'md' });
    const { events, next } = await api.events(thread_id);
    assert.deepEqual(
      events.map(({ id, type }) => `${id} ${type}`),
      [
        '1 thread.created',
        '2 state.patch.applied',
        '3 artifact.created',
        '4 artifact.created',
        '5 report.generated',
      ],
    );
    assert.equal(next, undefined);
    assert.deepEqual(events[1]!.payload, { version: 2, by: 'ada', ops: [fact('f1')] });
    assert.equal(events[2]!.payload.ref, ref);
    assert.ok(events.every((event) => event.thread_id === thread_id && event.payload.by === 'ada'));
  });

  it('come in pages after the last one seen, however long the log is', async () => {
    const opened = openThreads();
    const { api } = opened;
    const { thread_id } = await api.create();
    for (let i = 0; i < 120; i++) await api.record(thread_id, 'test.step', { i });
    for (const reader of [api, opened.again().api]) {
      const seen: number[] = [];
      let after: string | undefined;
      do {
        const page = await reader.events(thread_id, { after, limit: 50 });
        seen.push(...page.events.map(({ id }) => Number(id)));
        after = page.next;
      } while (after !== undefined);
      assert.deepEqual(
        seen,
        Array.from({ length: 121 }, (_, i) => i + 1),
      );
      assert.deepEqual(
        (await reader.events(thread_id, { after: '119' })).events.map(({ id }) => id),
        ['120', '121'],
      );
      assert.deepEqual((await reader.events(thread_id, { after: '500' })).events, []);
    }
    await assert.rejects(api.events(thread_id, { after: 'x' }), (error) =>
      isRelayError(error, 'bad_request'),
    );
  });

  it('can be watched: first old events, then new ones, also of other processes', async () => {
    const opened = openThreads();
    const { thread_id } = await opened.api.create();
    await opened.api.record(thread_id, 'test.before', {});
    const stop = new AbortController();
    const seen: string[] = [];
    const watching = (async () => {
      for await (const event of opened.api.watch(thread_id, { after: '1', signal: stop.signal })) {
        seen.push(`${event.id} ${event.type}`);
        if (seen.length === 3) stop.abort();
      }
    })();
    await opened.again().api.record(thread_id, 'test.live', {});
    await opened.api.patch(thread_id, { ops: [fact('f1')] });
    await watching;
    assert.deepEqual(seen, ['2 test.before', '3 test.live', '4 state.patch.applied']);
  });

  it('may have custom types, but not types of the relay', async () => {
    const { api } = openThreads();
    const { thread_id } = await api.create();
    for (const type of ['state.patch.applied', 'artifact.created', 'word', 'Upper.case', 'a..b', '']) {
      await assert.rejects(
        api.record(thread_id, type, {}),
        (error) => isRelayError(error, 'bad_request'),
        type,
      );
    }
  });
});

describe('an envelope', () => {
  it('is a message to a capability, recorded as an event and counted as a hop', async () => {
    const { as } = openThreads();
    const { thread_id } = await as('ada').create();
    const sent = await as('ada').send(thread_id, {
      to_capability: 'review',
      payload: { ref: 'x' },
      note: 'please',
    });
    assert.deepEqual(
      [sent.$schema, sent.from, sent.to_capability, sent.type, sent.thread_id, sent.note],
      ['com.relay.a2a.envelope.v1', 'ada', 'review', 'request', thread_id, 'please'],
    );
    assert.equal((await as('ada').get(thread_id)).hop_count, 1);
    assert.deepEqual((await as('bob').envelopes(thread_id, { to: 'review' })).envelopes, [sent]);
    assert.deepEqual((await as('bob').envelopes(thread_id, { to: 'other' })).envelopes, []);
    await as('ada').patch(thread_id, { ops: [fact('f')] });
    assert.equal((await as('ada').state(thread_id)).metrics.hop_count, 1);
  });

  it('is sent once per idempotency key, and costs one hop', async () => {
    const opened = openThreads();
    const { thread_id } = await opened.api.create();
    const envelope = { to_capability: 'x', payload: 1, idempotency_key: 'k' };
    const both = await Promise.all([
      opened.api.send(thread_id, envelope),
      opened.again().api.send(thread_id, envelope),
    ]);
    assert.deepEqual(both[0], both[1]);
    assert.equal((await opened.api.get(thread_id)).hop_count, 1);
    await assert.rejects(opened.api.send(thread_id, { ...envelope, payload: 2 }), (error) =>
      isRelayError(error, 'idempotency_conflict'),
    );
  });

  it('is rejected after 50 hops', async () => {
    const { api } = openThreads();
    const { thread_id } = await api.create();
    const all = await Promise.allSettled(
      Array.from({ length: 60 }, (_, i) => api.send(thread_id, { to_capability: 'x', payload: i })),
    );
    assert.equal(all.filter(({ status }) => status === 'fulfilled').length, 50);
    assert.ok(all.every((one) => one.status === 'fulfilled' || isRelayError(one.reason, 'too_many_hops')));
  });

  it('has limits', async () => {
    const { api } = openThreads();
    const { thread_id } = await api.create();
    const refused: [object, string][] = [
      [{ to_capability: 'x', payload: 'y'.repeat(16 * 1024) }, 'too_large'],
      [{ to_capability: 'x', payload: 1, note: 'n'.repeat(281) }, 'bad_request'],
      [{ to_capability: '', payload: 1 }, 'bad_request'],
      [{ to_capability: 'x' }, 'bad_request'],
      [{ to_capability: 'x', payload: 1, ttl: 0 }, 'bad_request'],
    ];
    for (const [envelope, code] of refused) {
      await assert.rejects(
        api.send(thread_id, envelope as never),
        (error) => isRelayError(error) && error.code === code,
      );
    }
    await api.send(thread_id, {
      to_capability: 'x',
      payload: 'y'.repeat(16 * 1024 - 2),
      note: '🙂'.repeat(280),
    });
    assert.equal((await api.get(thread_id)).hop_count, 1);
  });

  it('is no longer listed after it expires', async () => {
    const env = stoppedClock();
    const { api } = openThreads({ env });
    const { thread_id } = await api.create();
    await api.send(thread_id, { to_capability: 'x', payload: 1, ttl: 60 });
    env.advance(59_000);
    assert.equal((await api.envelopes(thread_id)).envelopes.length, 1);
    env.advance(2_000);
    assert.equal((await api.envelopes(thread_id)).envelopes.length, 0);
  });
});
