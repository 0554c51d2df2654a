import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startFakeModel } from '../../../examples/fake-model.ts';
import { openPrompts } from '../../../test/prompts/open-prompts.ts';
import { text } from '../../../test/threads/open-threads.ts';
import { countTokens } from '../../../test/token-count.ts';
import { openModel } from '../../runners/provider/provider.ts';

/**
 * Asks the questions one after another in one thread. The model gives the answer that belongs to each
 * question.
 */
async function converse(turns: readonly (readonly [question: string, answer: string])[]) {
  const open = openPrompts();
  const server = await startFakeModel(() => turns[server.asked.length - 1]![1]);
  const model = openModel({ model: 'm1' }, server.env, []);
  const thread_id = await open.thread();
  const ask = async (question: string) =>
    open.prompts.ask(await open.prompts.bundle({ thread_id, words: question }), model);
  const api = open.threads.as('ada');
  const add = (list: string, value: object) =>
    api.patch(thread_id, { ops: [{ op: 'add', path: `/${list}/-`, value: { id: list, ...value } }] });
  await add('constraints', { description: 'Never drop the production database.' });
  await add('facts', { key: 'port', value: 7474 });
  await api.putArtifact(thread_id, { body: text('The harbour opens at six.'), name: 'harbour.md' });
  for (const [question] of turns) await ask(question);
  return { ...open, server, thread_id, asked: server.asked };
}

const SHORT = Array.from(
  { length: 12 },
  (_, i) => [`Is gate ${i} open?`, i % 2 ? 'Yes, since noon.' : 'No.'] as const,
);

describe('a conversation', () => {
  it('is shown as questions and answers, at no more than 1.5 times the tokens of its transcript', async () => {
    const { prompts, thread_id, server } = await converse(SHORT);
    await using _ = server;
    const { user, stable = '' } = await prompts.bundle({ thread_id, words: 'And gate 12?' });
    const history = user.slice(stable.length, user.indexOf('\n\n>>> relay data'));
    const transcript = SHORT.flat().join('\n');
    for (const [question, answer] of SHORT) assert.ok(history.includes(`${question}\n${answer}`));
    const [cost, plain] = [countTokens(history).tokens, countTokens(transcript).tokens];
    assert.ok(cost <= plain * 1.5, `${cost} tokens for a transcript of ${plain}`);
    assert.equal(user.match(/>>> relay data/g)?.length, 1, 'only the source has a frame');
    assert.doesNotMatch(user, /last_actions/);
  });

  it('keeps the newest turns within a byte limit, without the patch of an answer', async () => {
    const patch = '```relay-patch\n[{"op":"add","path":"/facts/-","value":{"key":"k","value":"v"}}]\n```';
    const long = `${'The gate has a long history. '.repeat(200)}The end.`;
    const turns = [
      ...Array.from({ length: 40 }, (_, i) => [`Question ${i}?`, `${i} `.repeat(40)] as const),
      ['What of its history?', long] as const,
      ['What is to be kept?', `Only k.\n\n${patch}`] as const,
    ];
    const { prompts, thread_id, server } = await converse(turns);
    await using _ = server;
    const { user } = await prompts.bundle({ thread_id, words: 'And now?' });
    assert.match(user, /> What is to be kept\?\nOnly k\.\n/);
    assert.doesNotMatch(user, /relay-patch/);
    assert.match(user, /> What of its history\?\n[^>]+ \[part of answer [0-9a-f]{26}\]\n/);
    assert.match(user, /> Question 39\?/);
    assert.doesNotMatch(user, /> Question 3\?/);
    assert.ok(user.length < 4_000, `${user.length} characters`);
  });

  it('leaves the cached block and the cache key as they are from question to question', async () => {
    const {
      server,
      asked: requests,
      prompts,
      thread_id,
    } = await converse([
      ['Is it noon?', 'Yes.'],
      ['And now?', 'No.'],
      ['Why?', 'Time passes.'],
    ]);
    await using _ = server;
    const blocks = requests.map(({ body }) => body.messages[0].content[0]);
    assert.deepEqual(blocks[0].cache_control, { type: 'ephemeral' });
    assert.match(blocks[0].text, /Never drop the production database/);
    assert.deepEqual(blocks[1], blocks[0]);
    assert.deepEqual(blocks[2], blocks[0]);
    assert.deepEqual(requests[2]!.body.system, requests[0]!.body.system);
    assert.deepEqual(requests[2]!.body.tools, requests[0]!.body.tools);
    const keys = await Promise.all(
      ['Is it noon?', 'Why?'].map(
        async (question) => (await prompts.bundle({ thread_id, words: question })).cacheKey,
      ),
    );
    assert.ok(keys[0]);
    assert.equal(keys[1], keys[0]);
    assert.match(requests[2]!.user, /> Is it noon\?\nYes\.\n> And now\?\nNo\./);
  });

  it('leaves the cached block as it is when questions choose different items of a large state', async () => {
    const { server, prompts, thread_id, threads } = await converse([['Is it noon?', 'Yes.']]);
    await using _ = server;
    const ops = Array.from({ length: 300 }, (_, i) => ({
      op: 'add' as const,
      path: '/facts/-',
      value: { id: `f${i}`, key: `gate ${i}`, value: `opens at ${i % 24} o'clock` },
    }));
    await threads.as('ada').patch(thread_id, { ops });
    const bundles = await Promise.all(
      [3, 77, 150].map((gate) => prompts.bundle({ thread_id, words: `When does gate ${gate} open?` })),
    );
    for (const [i, { user, stable, cacheKey }] of bundles.entries()) {
      assert.equal(stable, bundles[0]!.stable);
      assert.equal(cacheKey, bundles[0]!.cacheKey);
      assert.match(stable!, /Never drop the production database/);
      assert.match(user.slice(stable!.length), new RegExp(`^gate ${[3, 77, 150][i]}: opens`, 'm'));
    }
  });

  it('is not shown to a model that gets only pinned artifacts', async () => {
    const { prompts, thread_id, server } = await converse([['Is it noon?', 'Yes.']]);
    await using _ = server;
    const { user } = await prompts.bundle({ thread_id, words: 'And?', previews: 0 });
    assert.doesNotMatch(user, /noon/);
  });
});
