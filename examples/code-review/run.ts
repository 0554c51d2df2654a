/**
 * Hands a code review from one provider's model to another's. The reviewer writes a long review and passes on a pointer.
 * The engineer pulls the review and turns it into tickets. The conversation between them never contains the review.
 *
 *   node examples/code-review/run.ts          uses the provider whose key is set
 *   node examples/code-review/run.ts --fake   needs no model
 */
import assert from 'node:assert/strict';
import { openStory } from '../story.ts';

const DIFF = `diff --git a/auth.ts b/auth.ts
-  if (token === expected) return user;
+  if (token == expected) return user;
+  console.log('signed in with', token);
`;

await using story = await openStory((system, words) => {
  if (system.includes('review')) {
    const issue = (n: number, what: string) =>
      `## Issue ${n}\n\n${what}\n\n${'Seen in the diff, with reasons. '.repeat(40)}\n`;
    return issue(1, 'The comparison is no longer strict.') + issue(2, 'The token is written into the log.');
  }
  const issues = [...words.matchAll(/## Issue \d+\n\n(.+)/g)].map((match) => match[1]);
  return issues.map((issue, i) => `TICKET-${i + 1}: ${issue}`).join('\n');
});

// The reviewer has its own client and passes on only a pointer.
const reviewer = story.client();
const review = await story.ask(
  'You review code.',
  `Review this change, each finding under "## Issue N":\n\n${DIFF}`,
);
const pointer = await reviewer.push(review, { metadata: { type: 'code_review', pr: 'PR-441' } });
console.log(`the reviewer passes on ${pointer}`);

// The engineer reads the metadata before it pulls.
const engineer = story.client();
const metadata = (await engineer.peek(pointer)) as { type: string; pr: string };
console.log(`it is a ${metadata.type} of ${metadata.pr}`);
const tickets = await story.ask(
  'You write tickets, one line each: TICKET-N: what to do.',
  `Make tickets of this review:\n\n${await engineer.pull(pointer)}`,
);
console.log(tickets);

assert.deepEqual(metadata, { type: 'code_review', pr: 'PR-441' });
assert.equal(await engineer.pull(pointer), review);
assert.ok(tickets.includes('TICKET-1'), 'no tickets were made');
// Without the relay, the conversation between the agents contains the review, and the engineer reads it a second time.
await story.bill([review, review], [pointer, JSON.stringify(metadata), review]);
console.log('checked: the tickets come from the review, and only a pointer was handed over');
