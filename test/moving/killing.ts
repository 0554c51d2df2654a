import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openPlace } from '../../src/app/store/engine-copy.ts';
import { cleanEnv, ENTRY, NODE, relay } from '../cli/program.ts';
import { everythingIn, fill } from './stores.ts';

/**
 * Has the real program copy a store and kills it at instants of which none is like another, over and over, and then lets it
 * come to its end. What there is then is what there was.
 */
export async function killWhileCopying(
  home: string,
  o: { from: string; to: string; kills: number; scale: number },
): Promise<void> {
  {
    await using source = await openPlace(o.from, 'target');
    await fill(source.engine, { scale: o.scale });
  }
  const copy = ['engine', 'copy', o.from, o.to, '--json'];
  // How long it takes to begin is not known, so the instants are spread over what the attempt before had.
  let wait = 150;
  let ended = false;
  for (let kill = 0; kill < o.kills && !ended; kill++) {
    const child = spawn(NODE, [ENTRY, ...copy], { env: cleanEnv({ home }), stdio: 'ignore' });
    const gone = once(child, 'exit');
    const timer = setTimeout(() => child.kill('SIGKILL'), wait);
    const [code] = await gone;
    clearTimeout(timer);
    ended = code === 0;
    wait = wait * 1.3 + Math.random() * 100;
  }
  const last = await relay(copy, { home });
  assert.equal(last.code, 0, last.stderr);
  await using source = await openPlace(o.from, 'source');
  await using target = await openPlace(o.to, 'source');
  const found = await everythingIn(target.engine);
  assert.deepEqual(found, await everythingIn(source.engine));
  assert.ok(Object.keys(found).length > o.scale, 'all of it');
  await assert.rejects(source.engine.records.put('ten.t/new', 1), { code: 'store_moved' });
  await target.engine.records.put('ten.t/new', 1);
}
