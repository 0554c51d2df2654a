/** One of several that write to the same keys and streams at once. Any error ends it, and the test with it. */
import { openSqlite } from '../../../src/engines/sqlite/engine.ts';
import { options, say } from './said.ts';

const { home, me, rounds } = options<{ home: string; me: number; rounds: number }>();
const engine = await openSqlite({ home });
const { records, logs, blobs } = engine;
const sequences: number[] = [];
let won = 0;

await Promise.all([counting(), racing(), appending(), folding(), storing()]);
await engine[Symbol.asyncDispose]();
say({ sequences });

async function counting(): Promise<void> {
  for (let i = 0; i < rounds; i++) await records.add('all.counter/1', 1);
}

/** Everyone changes one record by reading it and putting it back with what was read expected. */
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
    // A retry, as after a lost answer: it must not double the entry.
    const first = await logs.append('all.ids', { me, i }, { id: `${me}/${i}` });
    const again = await logs.append('all.ids', { me, i }, { id: `${me}/${i}` });
    if (first !== again) throw new Error(`one id, two sequences: ${first} and ${again}`);
  }
}

/** Like a thread's state: what is appended follows from everything before. */
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
