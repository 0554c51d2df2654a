/**
 * Pushes a result that is too large for the next prompt as a checkpoint. The next step reads its metadata, decides, and
 * pulls only the part it needs.
 *
 *   node examples/checkpoint/run.ts          uses the provider whose key is set
 *   node examples/checkpoint/run.ts --fake   needs no model
 */
import assert from 'node:assert/strict';
import { openStory } from '../story.ts';

/** Rows of a query, about 80 KB. */
const rows = Array.from({ length: 900 }, (_, i) => ({
  id: i,
  customer: `customer-${i % 40}`,
  amount: (i * 37) % 500,
  note: 'paid by transfer, checked by hand',
}));

await using story = await openStory((_, words) => {
  const amounts = (JSON.parse(words.slice(words.indexOf('['))) as { amount: number }[]).map(
    ({ amount }) => amount,
  );
  return `The largest amount is ${Math.max(...amounts)}.`;
});

// Step 1 pushes all rows.
const extraction = story.client();
const text = JSON.stringify({ first: rows.slice(0, 10), rows });
const checkpoint = await extraction.push(text, { metadata: { step: 'sql_extraction', rows: rows.length } });

// Step 2 reads only the metadata and decides.
const analysis = story.client();
const metadata = (await analysis.peek(checkpoint)) as { rows: number };
console.log(`the checkpoint has ${metadata.rows} rows`);
assert.equal(metadata.rows, 900);

// Step 3 pulls only the part it needs, with a JSON pointer.
const part = await analysis.pull(checkpoint, { json: '/first' });
assert.deepEqual(JSON.parse(part), rows.slice(0, 10));
const answer = await story.ask(
  'You answer in one sentence.',
  `What is the largest amount in these rows?\n${part}`,
);
console.log(answer);

const largest = Math.max(...rows.slice(0, 10).map(({ amount }) => amount));
assert.ok(answer.includes(String(largest)), `the answer does not name ${largest}`);
await story.bill([text], [checkpoint, JSON.stringify(metadata), part]);
console.log('checked: the answer comes from the ten pulled rows');
