import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openThreads } from '../../../test/threads/open-threads.ts';
import { ownTextWork } from '../../app/store/own-text-work.ts';
import { TextWorkers } from '../../app/store/text-workers.ts';
import { readBytes } from '../../base/byte-streams.ts';
import { isRelayError, RelayError } from '../../base/errors.ts';
import { WorkMeter } from '../../base/work-meter.ts';
import type { ThreadsApi } from '../../contract/threads.ts';
import type { TextWork } from '../text-work.ts';
import { runFold } from './fold-job.ts';

const LARGE = { id: 'f1', key: 'large', value: Array.from({ length: 100_000 }, () => 0) };

/** Makes a thread of 4 900 facts, with patches of 2 000 moves each. */
async function shuffled(api: ThreadsApi, patches: number): Promise<string> {
  const { thread_id } = await api.create();
  const facts = Array.from({ length: 4900 }, (_, i) => ({ id: `f${i}`, key: 'k', value: i }));
  await api.patch(thread_id, { ops: [{ op: 'replace', path: '/facts', value: facts }] });
  for (let round = 0; round < patches; round++) {
    const ops = Array.from({ length: 2000 }, (_, i) => ({
      op: 'move' as const,
      from: `/facts/${(i * 7 + round) % 4900}`,
      path: `/facts/${(i * 13 + round) % 4900}`,
    }));
    await api.patch(thread_id, { ops });
  }
  return thread_id;
}

/** Runs the requests that are computed from the log of a thread, and returns the answers. */
async function folds(api: ThreadsApi, id: string) {
  return {
    state: await api.state(id, { at: 4 }),
    diff: await api.diff(id, { from: 6, to: 3 }),
    blame: await api.blame(id),
    replay: await api.replay(id),
  };
}

describe('a fold of a log', () => {
  it('runs in a worker thread with the same result as in this process', async () => {
    await using workers = new TextWorkers();
    const opened = openThreads();
    const id = await shuffled(opened.api, 5);
    const kinds: string[] = [];
    const texts: TextWork = {
      ...ownTextWork,
      fold: (load, o) =>
        workers.fold(async () => {
          const loaded = await load();
          kinds.push(loaded.job.kind);
          return loaded;
        }, o),
    };
    const inThreads = openThreads({ engine: opened.engine, texts }).api;
    assert.deepEqual(await folds(inThreads, id), await folds(opened.api, id));
    assert.deepEqual(kinds, ['states', 'diff', 'blame', 'digest']);
    const bundle = await readBytes((await inThreads.export(id)).body);
    const other = openThreads({ texts }).api;
    assert.equal((await other.import(bundle)).events, 7);
    assert.equal(kinds.at(-1), 'check');
    assert.deepEqual(await other.state(id), await inThreads.state(id));
    await inThreads.revert(id, { to: 2 });
    assert.equal(kinds.at(-1), 'states');
    assert.deepEqual((await inThreads.diff(id, { from: 2 })).ops, []);
  });

  it('yields to the event loop while it reads events', async () => {
    const { api } = openThreads();
    const id = await shuffled(api, 8);
    let turns = 0;
    const timer = setInterval(() => turns++, 0);
    await api.replay(id);
    clearInterval(timer);
    assert.ok(turns >= 2, `${turns} turns`);
  });

  it('is rejected with 422 if it takes too much work or time', async () => {
    const { api, engine } = openThreads();
    const id = await shuffled(api, 3);
    const bounded = (steps: number): TextWork => ({
      ...ownTextWork,
      fold: async (load) => {
        const { job, events } = await load();
        return runFold(job, events, new WorkMeter(steps));
      },
    });
    const costly = (error: unknown) => isRelayError(error, 'too_costly') && error.status === 422;
    const refused = openThreads({ engine, texts: bounded(100_000) }).api;
    await assert.rejects(refused.blame(id), costly);
    await assert.rejects(refused.replay(id), costly);
    await assert.rejects(refused.diff(id, { from: 1, to: 4 }), costly);
    await assert.rejects(refused.revert(id, { to: 2 }), costly);
    const bundle = await readBytes((await api.export(id)).body);
    await assert.rejects(openThreads({ texts: bounded(100_000) }).api.import(bundle), costly);
    assert.equal((await refused.state(id)).version, 5, 'the current state needs no fold');
    await openThreads({ engine, texts: bounded(50_000_000) }).api.blame(id);
    await using slow = new TextWorkers({ timeMs: 1 });
    await assert.rejects(openThreads({ engine, texts: slow }).api.blame(id), costly);
  });

  it('reports why a log cannot be read', async () => {
    await using workers = new TextWorkers();
    const { api, engine } = openThreads({ texts: workers });
    const { thread_id } = await api.create();
    await api.patch(thread_id, { ops: [{ op: 'add', path: '/facts/-', value: LARGE }] });
    const ops = Array.from({ length: 3 }, (_, i) => ({
      op: 'add' as const,
      path: '/facts/-',
      value: { id: `x${i}`, key: 'k', value: 'x'.repeat(engine.limits.entryBytes) },
    }));
    await api.patch(thread_id, { ops });
    const { blobs } = engine;
    const get = blobs.get.bind(blobs);
    blobs.get = async (key, o) => {
      if (key.includes('/ops/')) throw new RelayError('store_damaged', { what: 'a blob' });
      return get(key, o);
    };
    await assert.rejects(api.replay(thread_id), (error) => isRelayError(error, 'store_damaged'));
  });
});

describe('a patch', () => {
  it('is rejected if it copies a large value over and over, and changes nothing', async () => {
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

  it('can make thousands of moves in a long list at little cost', async () => {
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
