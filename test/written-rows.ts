import { ownTextWork } from '../src/app/store/own-text-work.ts';
import { readOut } from '../src/base/byte-streams.ts';
import { systemEnv } from '../src/base/env.ts';
import { LOCAL_CALLER } from '../src/contract/caller.ts';
import { RelayCore } from '../src/domain/relay-core.ts';
import type { Engine } from '../src/kernel/engine.ts';

/**
 * Maximum number of database rows that may be written by a push of 1 KB to a channel, and by a pull of this payload.
 * Write-behind rows are included. The limits are the same on every engine.
 */
export const ROWS = { push: 8, pull: 2 };

const TIMES = 50;

/**
 * Returns the average number of written rows per push and per pull; `written` returns the total so far. A single push
 * is not exact, because receipts and statistics are written in batches.
 */
export async function rowsWritten(
  engine: Engine,
  auth: 'open' | 'keys',
  countWrittenRows: () => number | Promise<number>,
): Promise<{ push: number; pull: number }> {
  const core = new RelayCore({ engine, env: systemEnv, texts: ownTextWork }, { auth });
  const relay = core.relay(LOCAL_CALLER, 'http://relay.test');
  const ids: string[] = [];
  const push = async () => {
    const { id } = await relay.pointers.push({ body: new Uint8Array(1000).fill(97), channel: 'c' });
    ids.push(id);
  };
  const pull = async () => void (await readOut((await relay.pointers.pull(ids.pop()!)).body));
  const behind = async () => {
    await core.receipts.flush();
    await core.usage.statistics.flush();
    await core.deps.activity.flush();
  };
  const each = async (work: () => Promise<void>) => {
    const before = await countWrittenRows();
    for (let i = 0; i < TIMES; i++) await work();
    await behind();
    return ((await countWrittenRows()) - before) / TIMES;
  };
  // Warm up, so that one-time rows are not counted, such as the channel's list entry.
  await push();
  await pull();
  await behind();
  const rows = { push: await each(push), pull: await each(pull) };
  await core.close();
  return rows;
}
