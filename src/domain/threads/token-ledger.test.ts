import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openThreads, stoppedClock, text } from '../../../test/threads/open-threads.ts';

const counted = (tokens: number) => ({ tokens, tokenizer: 'o200k_base', estimated: false });

describe('the prompt ledger', () => {
  it('has no figure where nothing was prompted', async () => {
    const { api } = openThreads();
    const { thread_id } = await api.create();
    await api.putArtifact(thread_id, { body: text('some words') });
    await api.header(thread_id);
    const { prompts, recent_prompts } = await api.stats(thread_id);
    assert.deepEqual([prompts, recent_prompts, (await api.totals()).prompts], [null, [], null]);
  });

  it('adds up prompts, each against pasting what it stood for', async () => {
    const env = stoppedClock();
    const opened = openThreads({ env });
    const { api, core } = opened;
    const { thread_id } = await api.create();
    core.log.ledger.prompted(thread_id, { shown: counted(100), pasted: counted(1_000) });
    await core.settle();
    env.advance(1000);
    const tools = { tool_calls: 2, tool_call_tokens: 30 };
    const bill = { billed_input: 240, billed_output: 7, billed_cached_input: 64 };
    await api.record(thread_id, 'prompt.answered', {
      model: 'anthropic/one',
      prompt_tokens: 200,
      pasted_tokens: 150,
      ...tools,
      ...bill,
    });
    const stats = await api.stats(thread_id);
    assert.deepEqual(stats.prompts, {
      prompts: 2,
      pasted_tokens: 1_150,
      shown_tokens: 330,
      avoided_tokens: 820,
      prompt_tokens: 300,
      ...tools,
      read_tokens: 0,
    });
    assert.deepEqual(
      stats.recent_prompts.map(({ at: _, ...figures }) => Object.values(figures)),
      [
        ['answered', 'anthropic/one', 150, 230, -80],
        ['rendered', '', 1_000, 100, 900],
      ],
    );
    assert.deepEqual(stats.billed, { input_tokens: 240, output_tokens: 7, cached_input_tokens: 64 });
    assert.deepEqual((await opened.again().api.totals()).prompts, stats.prompts);
  });

  it('tells a bounded number of prompts one by one', async () => {
    const { api } = openThreads();
    const { thread_id } = await api.create();
    for (let i = 1; i <= 25; i++)
      await api.record(thread_id, 'prompt.answered', { model: `m${i}`, prompt_tokens: 1, pasted_tokens: 2 });
    const { prompts, recent_prompts } = await api.stats(thread_id);
    assert.deepEqual([prompts?.prompts, prompts?.avoided_tokens, recent_prompts.length], [25, 25, 20]);
    assert.equal(recent_prompts[0]?.by, 'm25');
  });

  it('takes no figure that is none, and lets nobody else write what only the relay writes', async () => {
    const { api } = openThreads();
    const { thread_id } = await api.create();
    await api.record(thread_id, 'prompt.answered', { prompt_tokens: -5, pasted_tokens: 1e300 });
    const { prompts } = await api.stats(thread_id);
    assert.deepEqual([prompts?.prompts, prompts?.pasted_tokens, prompts?.shown_tokens], [1, 0, 0]);
    await assert.rejects(api.record(thread_id, 'prompt.rendered', { prompt_tokens: 1 }), {
      code: 'bad_request',
    });
  });
});
