/**
 * One of several processes that write to the same keys and streams at once. An error ends the process and fails the test.
 */
import { openSqlite } from '../../../src/engines/sqlite/engine.ts';
import { options, print } from './script-io.ts';

const { home, me, rounds } = options<{ home: string; me: number; rounds: number }>();
const engine = await openSqlite({ home });
const { records, logs, blobs } = engine;
const sequences: number[] = [];
let won = 0;

await Promise.all([counting(), racing(), appending(), folding(), storing()]);
await engine[Symbol.asyncDispose]();
print({ sequences });

async function counting(): Promise<void> {
  for (let i = 0; i < rounds; i++) await records.add('all.counter/1', 1);
}

/** Increments a record with compare-and-set, in competition with the other processes. */
async function racing(): Promise<void> {
  while (won < rounds) {
    const now = await records.get('all.race/1');
    const value = ((now?.value as number | undefined) ?? 0) + 1;
    if ((await records.put('all.race/1', value, { expect: now?.revision ?? 'absent' })) !== null) won++;
  }
}

async function appending(): Promise<void> {
  for (let i = 0; i < rounds; i++) {
    sequences.push((await logs.append('all.log', { me, i }))!);
    // Repeat the append, as after a lost answer. It must not create a second entry.
    const first = await logs.append('all.ids', { me, i }, { id: `${me}/${i}` });
    const again = await logs.append('all.ids', { me, i }, { id: `${me}/${i}` });
    if (first !== again) throw new Error(`one id, two sequences: ${first} and ${again}`);
  }
}

/** Appends an entry that depends on all entries before it, like a thread event. */
async function folding(): Promise<void> {
  for (let done = 0; done < rounds; ) {
    const { last, count } = await logs.info('all.fold');
    if ((await logs.append('all.fold', count + 1, { expectSeq: last })) !== null) done++;
  }
}

async function storing(): Promise<void> {
  for (let i = 0; i < rounds; i++) {
    const bytes = new Uint8Array(i % 5 === 0 ? 200_000 : 2000).fill(me * 16 + (i % 16));
    await blobs.put(`all.blob/${me}/${i}`, bytes);
    await blobs.put('all.blob/shared', bytes);
    if (i % 3 === 0) await blobs.delete(`all.blob/${me}/${i}`);
  }
}
