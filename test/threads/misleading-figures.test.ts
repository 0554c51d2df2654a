import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import type { PatchOp } from '../../src/formats/json-patch/apply.ts';
import { openPrompts } from '../prompts/open-prompts.ts';
import { text } from './open-threads.ts';

/*
 * Tests token counts that were misleading in earlier versions. Other files have more of these tests:
 * - src/domain/threads/token-ledger.test.ts: reports on an empty thread, header and stats
 * - ledger-reads.test.ts: HEAD, listings, searches, states
 * - src/domain/threads/render.test.ts: nine answers before twelve sources
 * - test/cli/counting.test.ts: the tokenizer is not loaded for 77 bytes
 */

const tokens = (content: string) => encode(content).length;

/** 25 items with 359 tokens in total. */
const ITEMS = {
  facts: [
    ['database', 'SQLite in WAL mode, one file per home'],
    ['retention', 'pointers live for 24 hours by default'],
    ['payload limit', '25 MiB of decoded data before encryption'],
    ['lease', 'a claim lasts 30 seconds and is renewed every ten'],
    ['durability', 'fsync before the answer, also of the folder'],
    ['port', 'the server listens on 7474 unless it is told otherwise'],
    ['tokenizer', 'o200k_base, from a table that is read in a millisecond'],
    ['owner', 'the platform team, reachable in the channel relay-ops'],
    ['release', 'every second Tuesday, after the soak test was green'],
    ['backup', 'nightly at three, kept for thirty days in Frankfurt'],
  ],
  constraints: [
    'Never write to production on a Sunday.',
    'No payload key may ever reach a log.',
    'Older clients keep working unchanged.',
    'Every input has a limit and a clear error.',
    'Acknowledged means durable.',
  ],
  questions: [
    'Who approves a longer retention for the audit channel?',
    'Does the edge engine need a clock of its own?',
    'Which region gets the second cluster?',
    'May tenants see each other in the list of agents?',
    'What happens to leases when a server moves?',
  ],
  steps: [
    'Measure the fan-out with a thousand sockets.',
    'Move the sweep out of the request path.',
    'Write the page about backups.',
    'Ask the auditors about the log format.',
    'Cut the release candidate.',
  ],
};

test('a state of 359 tokens is complete in a prompt (its header used to carry 97 of them)', async () => {
  const { prompts, threads, thread } = openPrompts();
  const thread_id = await thread();
  const add = (path: string, value: object): PatchOp => ({
    op: 'add',
    path: `/${path}/-`,
    value: value as never,
  });
  const ops = [
    ...ITEMS.facts.map(([key, value], i) => add('facts', { id: `f${i}`, key, value })),
    ...ITEMS.constraints.map((description, i) =>
      add('constraints', { id: `c${i}`, description, severity: 'hard' }),
    ),
    ...ITEMS.questions.map((question, i) => add('open_questions', { id: `q${i}`, question, status: 'open' })),
    ...ITEMS.steps.map((step, i) => add('plan', { id: `s${i}`, step, status: 'pending' })),
  ];
  await threads.api.patch(thread_id, { ops });
  const { user, tokens: counted } = await prompts.bundle({ thread_id, words: 'Go on.' });
  const lines = new Set(user.split('\n').map((line) => line.replace(/^\d+ /, '')));
  const whole = [
    ...ITEMS.facts.map(([key, value]) => `${key}: ${value}`),
    ...ITEMS.constraints,
    ...ITEMS.questions,
    ...ITEMS.steps,
  ];
  assert.equal(whole.length, 25);
  assert.deepEqual(
    whole.filter((item) => !lines.has(item)),
    [],
  );
  const content = whole.reduce((sum, item) => sum + tokens(item), 0);
  assert.ok(content > 250, `${content} tokens`);
  const header = tokens(user.slice(0, user.indexOf('\n\n')));
  assert.ok(header <= 500 && content >= 0.8 * header, `${content} of ${header}`);
  assert.ok(counted.tokens < 900);
});

test('the savings of prompts are the same in printed lines and in the sum (they were 84 % and 19 %)', async () => {
  const { prompts, threads, thread } = openPrompts();
  const thread_id = await thread();
  const source = Array.from(
    { length: 800 },
    (_, i) => `The ${i}th jar holds ${i * 3} olives of the old tree.\n`,
  ).join('');
  await threads.api.putArtifact(thread_id, { body: text(source), name: 'jars.txt' });
  const model = { name: 'm', answer: async () => ({ text: 'Some.' }) };
  const printed = { shown: 0, pasted: 0 };
  for (let i = 0; i < 9; i++) {
    const bundle = await prompts.bundle({ thread_id, words: `How many olives are in jar ${i * 50}?` });
    const { tokens: tokenCounts } = await prompts.ask(bundle, model);
    printed.shown += tokenCounts.prompt;
    printed.pasted += tokenCounts.pasted;
  }
  const { prompts: sum, recent_prompts } = await threads.api.stats(thread_id);
  assert.deepEqual([sum!.shown_tokens, sum!.pasted_tokens], [printed.shown, printed.pasted]);
  assert.equal(sum!.avoided_tokens, printed.pasted - printed.shown);
  assert.equal(
    sum!.avoided_tokens,
    recent_prompts.reduce((all, one) => all + one.avoided_tokens, 0),
  );
  assert.ok(sum!.avoided_tokens > 0.8 * printed.pasted);
});

const quiet = { name: 'm', answer: async () => ({ text: 'None.' }) };

test('a prompt about an empty thread saves nothing (it used to save 111 tokens), also after reports', async () => {
  const { prompts, threads, thread } = openPrompts();
  const thread_id = await thread();
  await threads.api.report(thread_id, { format: 'json' });
  const { tokens: rendered, pasted } = await threads.api.render(thread_id, { previews: 0, dry: true });
  assert.equal(pasted.tokens, rendered.tokens);
  const empty = await thread();
  await prompts.ask(await prompts.bundle({ thread_id: empty, words: 'Is there anything?' }), quiet);
  assert.equal((await threads.api.stats(empty)).prompts!.avoided_tokens, 0);
});

test('500 facts are pasted as 500 lines (they used to count as JSON, 3.6 times as many tokens)', async () => {
  const { prompts, threads, thread } = openPrompts();
  const thread_id = await thread();
  const words = 'What is the retention of billing?';
  const bare = (await prompts.bundle({ thread_id, words })).pasted.tokens;
  const facts = Array.from({ length: 500 }, (_, i) => ({
    id: `fact-${i}`,
    key: `service-${i}`,
    value: `keeps its logs for ${i} days`,
  }));
  const ops = facts.map((value): PatchOp => ({ op: 'add', path: '/facts/-', value }));
  await threads.as('ada').patch(thread_id, { ops });
  const lines = tokens(facts.map(({ key, value }) => `${key}: ${value}`).join('\n'));
  const { pasted } = await prompts.bundle({ thread_id, words });
  assert.ok(Math.abs(pasted.tokens - bare - lines) <= 2, `${pasted.tokens - bare} instead of ${lines}`);
});

test('reports and past actions do not count as pasted, because nobody would paste them', async () => {
  const { threads, thread } = openPrompts();
  const { api } = threads;
  const thread_id = await thread();
  const body = text('The kettle was filled at noon.\n'.repeat(200));
  const { ref, tokens: source } = await api.putArtifact(thread_id, { body, name: 'kettle.log' });
  const words = 'When was the kettle filled?';
  const before = (await api.render(thread_id, { words, dry: true })).pasted.tokens;
  assert.ok(before > source.content && before < source.content + 200);
  const { artifact_ref } = await api.report(thread_id, { format: 'md' });
  const value = { description: 'Filled the kettle.', result_ref: ref };
  await api.patch(thread_id, { ops: [{ op: 'add', path: '/last_actions/-', value }] });
  const { pasted, artifacts } = await api.render(thread_id, { words, refs: [artifact_ref], dry: true });
  assert.equal(artifacts.length, 2, 'the report is shown');
  assert.equal(pasted.tokens, before);
});

test('pasting a conversation counts its questions and answers unchanged', async () => {
  const { prompts, thread } = openPrompts();
  const thread_id = await thread();
  const words = 'Is there more?';
  const before = (await prompts.bundle({ thread_id, words })).pasted.tokens;
  const earlier = 'Is the kettle on, and has anybody looked at the tea?';
  await prompts.ask(await prompts.bundle({ thread_id, words: earlier }), quiet);
  const after = (await prompts.bundle({ thread_id, words })).pasted.tokens;
  const turn = tokens(`${earlier}\nNone.\n`);
  assert.ok(Math.abs(after - before - turn) <= 2, `${after - before} instead of ${turn}`);
});
