/**
 * Two agents of two vendors, one in TypeScript, one in Python. The first pushes a long log, encrypted. The second reads
 * the relevant lines, asks its own model, and pushes its finding, encrypted. The relay stores only ciphertext.
 *
 *   node examples/cross-vendor/run.ts          uses the provider whose key is set, and OPENAI_API_KEY for the other agent
 *   node examples/cross-vendor/run.ts --fake   needs no model
 *
 * `PYTHON` is a Python interpreter with `contextrelay` installed. Default: `python3`.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { FAKE, openStory } from '../story.ts';

const PYTHON = process.env.PYTHON ?? 'python3';
const run = promisify(execFile);
await run(PYTHON, ['-c', 'import contextrelay']).catch(() => {
  console.error(
    `${PYTHON} cannot import contextrelay.\n  → Run pip install ./python, or set PYTHON to an interpreter that has it.`,
  );
  process.exit(2);
});
if (!FAKE && !process.env.OPENAI_API_KEY) {
  console.error('The Python agent uses OpenAI.\n  → Set OPENAI_API_KEY, or try it without a model: --fake');
  process.exit(2);
}

await using story = await openStory((_, words) =>
  words.includes('What went wrong?')
    ? `The disk was full: ${/ERROR .*/.exec(words)?.[0]}`
    : `Free some space. (${words.length} characters read)`,
);

// The first agent, in TypeScript.
const log = Array.from({ length: 3_000 }, (_, i) =>
  i === 1_717 ? 'ERROR no space left on device' : `INFO request ${i} answered in ${i % 90} ms`,
).join('\n');
const relay = story.client();
const pointer = await relay.push(log, { encrypted: true, metadata: { kind: 'log' } });
console.log(`handed over: ${pointer.replace(/#.*/, '#key=…')}`);

// The second agent, in Python. It gets only the URL.
const fake = story.fakeUrl ? { OPENAI_BASE_URL: `${story.fakeUrl}/v1`, OPENAI_API_KEY: 'fake' } : {};
const { stdout } = await run(PYTHON, [join(import.meta.dirname, 'agent.py'), pointer], {
  env: { ...process.env, ...fake, CONTEXTRELAY_URL: story.relayUrl },
});
const answer = stdout.trim();
const finding = await relay.pull(answer);
const { read_chars } = (await relay.peek(answer)) as { read_chars: number };
console.log(`the other agent says: ${finding}`);
const advice = await story.ask('You answer in one sentence.', `What should we do about it? ${finding}`);
console.log(advice);

assert.ok(answer.includes('#key='), 'the answer is encrypted too');
if (FAKE) assert.equal(finding, 'The disk was full: ERROR no space left on device');
for (const url of [pointer, answer]) {
  const stored = await (await fetch(`${url.replace(/#.*/, '')}?raw=1`)).text();
  assert.match(stored, /^gAAAAA/, 'the relay stores only ciphertext');
}
const lines = log.split('\n').slice(1_716, 1_719).join('\n');
assert.ok(read_chars < 4 * lines.length, `the other agent read ${read_chars} characters`);
await story.bill([log, finding, finding], [pointer, lines, answer, finding]);
console.log('checked: both ways encrypted, and only the relevant lines were read');
