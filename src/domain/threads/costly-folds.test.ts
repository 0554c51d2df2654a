import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openThreads } from '../../../test/threads/open-threads.ts';
import { isRelayError } from '../../base/errors.ts';

const LARGE = { id: 'f1', key: 'large', value: Array.from({ length: 100_000 }, () => 0) };

describe('a patch', () => {
  it('that copies a large value over and over is refused, and changes nothing', async () => {
    const { api } = openThreads();
    const { thread_id } = await api.create();
    await api.patch(thread_id, { ops: [{ op: 'add', path: '/facts/-', value: LARGE }] });
    const ops = Array.from({ length: 500 }, () => [
      { op: 'copy' as const, from: '/facts/0/value', path: '/facts/0/other' },
      { op: 'replace' as const, path: '/facts/0/value/0', value: 1 },
    ]).flat();
    await assert.rejects(
      api.patch(thread_id, { ops }),
      (error) => isRelayError(error, 'too_costly') && error.status === 422 && /Split/.test(error.hint),
    );
    assert.equal((await api.state(thread_id)).version, 2);
    await api.patch(thread_id, { ops: ops.slice(0, 10) });
  });

  it('of thousands of moves in a long list is no cost to speak of', async () => {
    const { api } = openThreads();
    const { thread_id } = await api.create();
    const facts = Array.from({ length: 4900 }, (_, i) => ({ id: `f${i}`, key: 'k', value: i }));
    await api.patch(thread_id, { ops: [{ op: 'replace', path: '/facts', value: facts }] });
    const ops = Array.from({ length: 5000 }, (_, i) => ({
      op: 'move' as const,
      from: `/facts/${(i * 7) % 4900}`,
      path: `/facts/${(i * 13) % 4900}`,
    }));
    await api.patch(thread_id, { ops });
    assert.equal((await api.state(thread_id)).facts.length, 4900);
  });
});
