/**
 * One model plans, another builds. The engineer waits on `task-assigned`. The architect pushes its document there and
 * gets the implementation from `task-done`. They never share a conversation: each sends the other one pointer.
 *
 *   node examples/architect-engineer/run.ts          uses the provider whose key is set
 *   node examples/architect-engineer/run.ts --fake   needs no model
 */
import assert from 'node:assert/strict';
import { openStory } from '../story.ts';

const ARCHITECT = 'You are a software architect. Answer with the design document alone.';
const ENGINEER = 'You are a senior engineer. Implement the architecture: every file, no placeholders.';

await using story = await openStory((system, words) =>
  system === ARCHITECT
    ? `# Task API\n\n${'- an endpoint, its model, its errors\n'.repeat(400)}`
    : `// implements a document of ${words.length} characters\n${'export {};\n'.repeat(300)}`,
);

// The engineer starts first and waits.
const engineer = story.client();
await using listening = engineer.subscribe('task-assigned', async ({ url }) => {
  const architecture = await engineer.pull(url!);
  const code = await story.ask(ENGINEER, architecture);
  await engineer.push(code, {
    channel: 'task-done',
    metadata: { role: 'implementation', from_chars: architecture.length },
  });
  console.log('implementation published → task-done');
});
await listening.ready;

// The architect subscribes to the answer before it sends the document.
const architect = story.client();
const done = Promise.withResolvers<string>();
await using waiting = architect.subscribe('task-done', ({ url }) => done.resolve(url!));
await waiting.ready;
const document = await story.ask(ARCHITECT, 'Design a production task management API. Be complete.');
const pointer = await architect.push(document, {
  channel: 'task-assigned',
  metadata: { role: 'architecture' },
});
console.log(`architecture pushed: ${pointer}`);

const answer = await done.promise;
const implementation = await architect.pull(answer);
console.log(`implementation received: ${implementation.length} characters`);

const { role, from_chars } = await architect.peek(answer);
assert.equal(role, 'implementation');
assert.equal(from_chars, document.length, 'the engineer read the whole document');
const { receipts } = await architect.receipts(pointer);
assert.ok(
  receipts.some(({ rung }) => rung === 'pulled'),
  'the receipts show the pull',
);
// Without the relay, the program between the two agents reads both documents too.
const documents = [document, implementation];
await story.bill([...documents, ...documents], [pointer, answer, ...documents]);
console.log(
  `checked: ${document.length + implementation.length} characters were handed over with two pointers`,
);
