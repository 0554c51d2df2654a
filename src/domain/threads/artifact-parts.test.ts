import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openThreads, text } from '../../../test/threads/open-threads.ts';
import { countTokens } from '../../../test/token-count.ts';
import { isRelayError } from '../../base/errors.ts';

const LONG = Array.from({ length: 1000 }, (_, i) => `line ${i + 1} of a long report`).join('\n');

async function stored(content = LONG, name = 'report.txt') {
  const { api, core } = openThreads();
  const { thread_id } = await api.create();
  const { ref } = await api.putArtifact(thread_id, { body: text(content), name });
  const pulls = async () => {
    await core.log.settle();
    const { events } = await api.events(thread_id);
    return events.filter(({ type }) => type === 'artifact.pulled').map(({ payload }) => payload);
  };
  return { api, thread_id, ref, pulls };
}

test('reading a part is a pull that costs the tokens of the answer and names the part', async () => {
  const { api, thread_id, ref, pulls } = await stored();
  const part = await api.part(thread_id, ref, { lines: '900-901' });
  assert.equal(part.text, 'line 900 of a long report\nline 901 of a long report');
  assert.match(part.about, /^lines 900-901/);
  assert.equal(part.tokens.tokens, countTokens(part.text).tokens);
  assert.equal((await api.part(thread_id, ref, { grep: 'line 77 ' })).text, '77:line 77 of a long report');
  const [lines, grep] = await pulls();
  assert.deepEqual(
    [lines?.part, lines?.tokens, grep?.part],
    ['lines=900-901', part.tokens.tokens, 'grep=line 77 '],
  );
});

test('a part that is too long in characters and in tokens names one place to continue', async () => {
  const { api, thread_id } = await stored();
  const body = text(`${'x'.repeat(99)}\n`.repeat(30_000));
  const { ref } = await api.putArtifact(thread_id, { body, name: 'long.txt' });
  const { about } = await api.part(thread_id, ref, { lines: '1-', max_tokens: 100 });
  assert.equal(about.match(/continue with/g)?.length, 1, about);
});

test('a part with too many tokens is cut at a line end and says where to continue', async () => {
  const { api, thread_id, ref, pulls } = await stored();
  const part = await api.part(thread_id, ref, { lines: '11-', max_tokens: 100 });
  assert.ok(part.tokens.tokens <= 100 && part.tokens.tokens > 50, `${part.tokens.tokens} tokens`);
  assert.equal(part.truncated, true);
  const last = 10 + part.text.split('\n').length;
  assert.ok(part.text.endsWith(`line ${last} of a long report`), part.text);
  assert.match(part.about, new RegExp(`cut at 100 tokens; continue with lines=${last + 1}-$`));
  assert.equal((await pulls())[0]?.tokens, part.tokens.tokens);
});

test('one long line is cut, never in the middle of a character', async () => {
  const { api, thread_id, ref } = await stored('🦊'.repeat(4000), 'fox.txt');
  const part = await api.part(thread_id, ref, { lines: '1', max_tokens: 40 });
  assert.ok(part.tokens.tokens <= 40 && part.text.length > 0);
  assert.ok(part.text.isWellFormed());
});

test('an empty, ambiguous or missing part is rejected and is not a pull', async () => {
  const { api, thread_id, ref, pulls } = await stored();
  for (const part of [
    {},
    { lines: '1', grep: 'x' },
    { lines: '5000' },
    { json: '/a' },
    { lines: '1', max_tokens: 0 },
  ])
    await assert.rejects(api.part(thread_id, ref, part), (e) => isRelayError(e), JSON.stringify(part));
  await assert.rejects(api.part(thread_id, '0'.repeat(26), { outline: true }), (e) =>
    isRelayError(e, 'not_found'),
  );
  assert.deepEqual(await pulls(), []);
});
