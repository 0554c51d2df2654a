import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import type { Env } from '../../src/base/env.ts';
import { Prompts } from '../../src/client/prompts/prompts.ts';
import { TOOLS } from '../../src/client/prompts/thread-tools.ts';
import type { Model } from '../../src/client/prompts/types.ts';
import { memoryCache } from '../pipelines/open-pipelines.ts';
import { openThreads, realCounter, text } from './open-threads.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/tokens.md'), 'utf8');
const tokens = (content: string) => encode(content).length;
const REPORT = Array.from({ length: 500 }, (_, i) => `Sensor ${i} was read at noon and was fine.\n`).join('');

/** Returns an Env with a fixed time and fixed random bytes, so that token counts are the same in every run. */
function sameEveryTime(): Env {
  let state = 1;
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state >>> 24;
  };
  return { now: () => Date.UTC(2026, 0, 1), randomBytes: (length) => new Uint8Array(length).map(next) };
}

test('the figures of the example in docs/tokens.md are correct, counted by another tokenizer', async () => {
  const env = sameEveryTime();
  const { api, as } = openThreads({ env });
  const frameSecret = async () => new Uint8Array(32);
  const prompts = new Prompts({ threads: as, tokens: realCounter, env, cache: memoryCache(), frameSecret });
  const { thread_id } = await api.create({ name: 'example' });
  const fact = { id: 'f1', key: 'place', value: 'roof' };
  await api.patch(thread_id, { ops: [{ op: 'add', path: '/facts/-', value: fact }] });
  const { preview } = await api.putArtifact(thread_id, { body: text(REPORT), name: 'report.txt' });

  const pulledTexts: string[] = [];
  const model: Model = {
    name: 'model',
    async answer(_prompt, _o, use) {
      if (use!.rounds.length > 0) {
        pulledTexts.push('{"query":"sensor 417"}', use!.rounds[0]!.results[0]!);
        return {
          text: 'It was fine.',
          billed: { input_tokens: 2_000, output_tokens: 5, cached_input_tokens: 900 },
        };
      }
      return { text: '', calls: [{ id: '1', name: 'search', arguments: '{"query":"sensor 417"}' }] };
    },
  };
  const question = 'Which sensors were read on the roof?';
  const bundle = await prompts.bundle({ thread_id, words: question });
  const { artifact_ref } = await prompts.ask(bundle, model);
  const listing = JSON.stringify(await api.artifacts(thread_id));

  const answer = (await api.artifact(thread_id, artifact_ref, { counted: false })).preview.text;
  const prompt = tokens(`${bundle.system}\n${bundle.user}`) + tokens(JSON.stringify(TOOLS));
  const pull = tokens(pulledTexts.join('\n'));
  const pasted = bundle.pasted.tokens;
  const instructions = tokens(`${bundle.system}\nYour task:\n`);
  const state = tokens('place: roof\n');
  const byHand = instructions + tokens(question) + state + tokens(REPORT);
  assert.ok(Math.abs(pasted - byHand) <= 2, `${pasted} and ${byHand}`);

  const stats = await api.stats(thread_id);
  const naive = tokens(REPORT) + tokens(answer);
  const actual = tokens(preview.text) + tokens(answer);
  const shownTokens = prompt + pull + tokens(listing);
  const figures = {
    naive,
    actual,
    avoided: naive - actual,
    pasted,
    prompt,
    pull,
    listing: tokens(listing),
    shown: shownTokens,
    saved: pasted - shownTokens,
  };
  assert.deepEqual(figures, {
    naive: stats.naive_tokens,
    actual: stats.actual_tokens,
    avoided: stats.avoided_tokens,
    pasted: stats.prompts!.pasted_tokens,
    prompt: stats.prompts!.prompt_tokens,
    pull: stats.prompts!.tool_call_tokens,
    listing: stats.prompts!.read_tokens,
    shown: stats.prompts!.shown_tokens,
    saved: stats.prompts!.avoided_tokens,
  });
  const n = (value: number) => String(value).replace(/\B(?=(\d{3})+$)/g, ' ');
  const example = [
    `| \`naive_tokens\` | ${n(tokens(REPORT))} + ${n(tokens(answer))} | ${n(naive)} |`,
    `| \`actual_tokens\` | ${n(tokens(preview.text))} + ${n(tokens(answer))} | ${n(actual)} |`,
    `| \`avoided_tokens\` | ${n(naive)} − ${n(actual)} | ${n(naive - actual)} |`,
    `| \`prompts.pasted_tokens\` | ${n(pasted - tokens(REPORT) - state - tokens(question))} + ${tokens(question)} + ${state} + ${n(tokens(REPORT))} | ${n(pasted)} |`,
    `| \`prompts.prompt_tokens\` | ${n(prompt - tokens(JSON.stringify(TOOLS)))} + ${n(tokens(JSON.stringify(TOOLS)))} | ${n(prompt)} |`,
    `| \`prompts.tool_call_tokens\` | ${n(tokens('{"query":"sensor 417"}'))} + ${n(pull - tokens('{"query":"sensor 417"}'))} | ${n(pull)} |`,
    `| \`prompts.read_tokens\` | ${n(tokens(listing))} | ${n(tokens(listing))} |`,
    `| \`prompts.shown_tokens\` | ${n(prompt)} + ${n(pull)} + ${n(tokens(listing))} | ${n(shownTokens)} |`,
    `| \`prompts.avoided_tokens\` | ${n(pasted)} − ${n(shownTokens)} | ${n(pasted - shownTokens)} |`,
  ].join('\n');
  assert.ok(PAGE.includes(example), `docs/tokens.md is to say:\n${example}`);
  assert.deepEqual(stats.billed, { input_tokens: 2_000, output_tokens: 5, cached_input_tokens: 900 });
  assert.equal(
    stats.recent_prompts[0]!.avoided_tokens,
    pasted - prompt - pull,
    'a prompt has no part in what is read beside it',
  );
});
