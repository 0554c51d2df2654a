import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openPlace } from '../../src/app/store/engine-copy.ts';
import type { Engine } from '../../src/kernel/engine.ts';
import { ARRIVING_KEY } from '../../src/kernel/moving.ts';
import { cleanEnv, ENTRY, NODE, relay } from '../cli/program.ts';
import { patterned } from '../conformance/bodies.ts';
import { fill, readWholeStore } from './stores.ts';

/**
 * Runs the real program to copy a store, kills it at random moments, changes the source in between, and finally lets it
 * finish. Then the target must equal the source. If a copy finishes before it is killed, `to` names the next target.
 */
export async function killWhileCopying(
  home: string,
  o: { from: string; to: (n: number) => string; kills: number; scale: number },
): Promise<void> {
  {
    await using source = await openPlace(o.from, 'target');
    await fill(source.engine, { scale: o.scale });
  }
  let [n, whole, interrupted] = [0, Number.POSITIVE_INFINITY, 0];
  const begin = () => ['engine', 'copy', o.from, o.to(n)];
  for (let round = 0; round < o.kills || interrupted === 0; round++) {
    const began = performance.now();
    const child = spawn(NODE, [ENTRY, ...begin()], { env: cleanEnv({ home }), stdio: 'ignore' });
    const exit = once(child, 'exit');
    const timer = n === 0 ? undefined : setTimeout(() => child.kill('SIGKILL'), whole * Math.random());
    const [code] = await exit;
    clearTimeout(timer);
    if (code === 0) whole = Math.min(whole, performance.now() - began);
    await using target = await openPlace(o.to(n), 'target');
    await using source = await openPlace(o.from, 'source');
    const isUnderWay = (await target.engine.records.get(ARRIVING_KEY)) !== null;
    if (isUnderWay) interrupted++;
    else if ((await source.engine.moving.moveStatus())?.ms === null) n++;
    await source.engine.moving.thaw();
    await change(source.engine, round);
  }
  const last = await relay(begin(), { home });
  assert.equal(last.code, 0, last.stderr);
  await using source = await openPlace(o.from, 'source');
  await using target = await openPlace(o.to(n), 'source');
  const copiedStore = await readWholeStore(target.engine);
  assert.deepEqual(copiedStore, await readWholeStore(source.engine));
  assert.ok(Object.keys(copiedStore).length > o.scale, 'all of it');
  await assert.rejects(source.engine.records.put('ten.t/new', 1), { code: 'store_moved' });
  await target.engine.records.put('ten.t/new', 1);
}

/** Adds, changes and deletes data of every kind, so that a resumed copy must check data that it has already copied. */
async function change({ blobs, records, logs, index }: Engine, round: number): Promise<void> {
  const old = round * 3 + 2;
  await records.put(`ten.t/new/${round}`, round);
  await records.delete(`ten.t/r/${old}`);
  await blobs.put('ptr.1/body', patterned(2000 + round, round + 1));
  await blobs.delete(`ptr.${old}/body`);
  await index.remove(`thr.one/${round * 10}`);
  await logs.append('thr.one', ['round', round]);
  await logs.drop(`chn.t.${round % 7}`);
  if (round % 2) await logs.append(`chn.t.${round % 7}`, 'begun anew');
}
