import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openThreads, stoppedClock, text } from '../../../test/threads/open-threads.ts';
import { bareRoot } from './keys.ts';

const counted = (tokens: number) => ({ tokens, tokenizer: 'o200k_base', estimated: false });

const LONG = 'It was a bright cold day in April, and the clocks were striking thirteen.\n'.repeat(200);

describe('tokens of contents and previews', () => {
  it('are the same in stats, reports and the header, whatever was read', async () => {
    const { api } = openThreads();
    const { thread_id } = await api.create();
    const { ref, tokens } = await api.putArtifact(thread_id, { body: text(LONG), name: 'long.txt' });
    await api.header(thread_id);
    await api.artifact(thread_id, ref);
    await api.content(thread_id, ref);
    await api.render(thread_id);
    await api.patch(thread_id, { ops: [{ op: 'add', path: '/session_summary', value: 'x' }] });
    const { naive_tokens, actual_tokens, avoided_tokens, tokenizer } = await api.stats(thread_id);
    assert.deepEqual(
      [naive_tokens, actual_tokens, avoided_tokens],
      [tokens.content, tokens.preview, tokens.content - tokens.preview],
    );
    const { metrics } = await api.header(thread_id);
    assert.deepEqual([metrics.tokens_estimate, metrics.tokens_avoided], [naive_tokens, avoided_tokens]);
    const { token_savings } = await api.report(thread_id);
    assert.deepEqual(token_savings, { naive_tokens, actual_tokens, avoided_tokens, tokenizer });
    const sum = await api.totals();
    assert.deepEqual([sum.naive_tokens, sum.avoided_tokens], [naive_tokens, avoided_tokens]);
  });

  it('do not change with reports: eight reports on an empty thread save nothing', async () => {
    const { api } = openThreads();
    const { thread_id } = await api.create();
    for (let i = 0; i < 8; i++) await api.report(thread_id, { format: i % 2 ? 'md' : 'json' });
    const { artifacts, naive_tokens, actual_tokens, avoided_tokens, prompts } = await api.stats(thread_id);
    assert.deepEqual([artifacts, naive_tokens, actual_tokens, avoided_tokens, prompts], [8, 0, 0, 0, null]);
    const { metrics } = await api.header(thread_id);
    assert.deepEqual([metrics.tokens_estimate, metrics.tokens_avoided], [0, 0]);
  });

  it('survive export and import, and so does the ledger', async () => {
    const { api, core } = openThreads();
    const { thread_id } = await api.create();
    const { ref } = await api.putArtifact(thread_id, { body: text(LONG), name: 'long.txt' });
    await api.header(thread_id);
    await api.content(thread_id, ref);
    core.log.ledger.recordPrompt(bareRoot(thread_id), { prompt: counted(100), pasted: counted(3_000) });
    const before = await api.stats(thread_id);
    assert.equal(before.prompts?.prompts, 1);
    const { body } = await api.export(thread_id);
    const bundle = new Uint8Array(await new Response(body).arrayBuffer());
    assert.deepEqual(await api.stats(thread_id), before);
    const other = openThreads();
    await other.api.import(bundle);
    assert.deepEqual(await other.api.stats(thread_id), before);
  });
});

describe('the prompt ledger', () => {
  it('has no figures if there were no prompts', async () => {
    const { api } = openThreads();
    const { thread_id } = await api.create();
    await api.putArtifact(thread_id, { body: text('some words') });
    await api.header(thread_id);
    const { prompts, recent_prompts } = await api.stats(thread_id);
    assert.deepEqual([prompts, recent_prompts, (await api.totals()).prompts], [null, [], null]);
  });

  it('sums up prompts, each compared with pasting everything', async () => {
    const env = stoppedClock();
    const opened = openThreads({ env });
    const { api, core } = opened;
    const { thread_id } = await api.create();
    core.log.ledger.recordPrompt(bareRoot(thread_id), { prompt: counted(100), pasted: counted(1_000) });
    await core.log.settle();
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

  it('lists a limited number of prompts', async () => {
    const { api } = openThreads();
    const { thread_id } = await api.create();
    for (let i = 1; i <= 25; i++)
      await api.record(thread_id, 'prompt.answered', { model: `m${i}`, prompt_tokens: 1, pasted_tokens: 2 });
    const { prompts, recent_prompts } = await api.stats(thread_id);
    assert.deepEqual([prompts?.prompts, prompts?.avoided_tokens, recent_prompts.length], [25, 25, 20]);
    assert.equal(recent_prompts[0]?.by, 'm25');
  });

  it('ignores invalid figures, and rejects event types that only the relay writes', async () => {
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
