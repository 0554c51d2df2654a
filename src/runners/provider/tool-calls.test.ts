import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startFakeModel } from '../../../examples/fake-model.ts';
import { KEY, PROVIDER_ENVIRONMENTS } from '../../../test/prompts/providers.ts';
import { isRelayError } from '../../base/errors.ts';
import type { Tool } from '../../client/prompts/types.ts';
import { openModel } from './provider.ts';

const PROMPT = { system: 'be brief', user: 'hello there' };

const TOOLS: readonly Tool[] = ['pull', 'search'].map((name) => ({
  name,
  description: name,
  parameters: { type: 'object', properties: {} },
}));

/** How each provider is told to call no more tools: with `tools`, `tool_choice` or `toolConfig`. */
const LAST: { readonly [provider: string]: RegExp } = {
  anthropic: /"name":"pull".*\{"type":"none"\}/,
  openai: /"name":"pull".*"none"/,
  gemini: /"name":"pull".*"mode":"NONE"/,
  ollama: /^\[\[\],null,null\]$/,
  compatible: /"name":"pull".*"none"/,
};

for (const [provider, env] of PROVIDER_ENVIRONMENTS) {
  test(`${provider}: tool calls arrive in pieces, and are sent back unchanged with their results`, async () => {
    const asks = [
      { name: 'pull', arguments: { ref: 'a', lines: '900' } },
      { name: 'search', arguments: { query: 'the “key”' } },
    ];
    await using server = await startFakeModel(({ results }) =>
      results.length === 0
        ? { text: 'Let me look.', calls: asks }
        : { text: `It is ${results.join(' and ')}.`, cached: 3 },
    );
    const model = openModel({}, env(server.url), []);
    const use = { tools: TOOLS, rounds: [], last: false };
    const first = await model.answer(PROMPT, {}, use);
    assert.equal(first.text, 'Let me look.');
    assert.deepEqual(
      first.calls?.map((call) => ({ name: call.name, arguments: JSON.parse(call.arguments) })),
      asks,
    );
    const rounds = [{ answer: first, results: ['one', 'two'] }];
    const { text, billed, calls } = await model.answer(PROMPT, {}, { ...use, rounds });
    assert.equal(text, 'It is one and two.');
    assert.equal(calls, undefined);
    if (provider !== 'ollama') assert.equal(billed?.cached_input_tokens, 3);
    const [, again] = server.asked;
    assert.deepEqual(again?.tools, ['pull', 'search']);
    const sent = JSON.stringify(again?.body);
    for (const part of ['look.', 'the “key”', 'two']) assert.ok(sent.includes(part), sent);
    if (provider === 'gemini') assert.match(sent, /"thoughtSignature":"c2lnbmVk"/);
    await model.answer(PROMPT, {}, { ...use, rounds, last: true });
    const { tools = [], tool_choice, toolConfig } = server.asked[2]!.body;
    assert.match(JSON.stringify([tools, tool_choice, toolConfig]), LAST[provider]!);
  });

  test(`${provider}: a model without tool support is distinguished from a failing one`, async () => {
    const message = 'llama2 does not support tools';
    await using server = await startFakeModel(() => ({ status: 400, message }));
    const model = openModel({}, env(server.url), []);
    const use = { tools: TOOLS, rounds: [], last: false };
    await assert.rejects(model.answer(PROMPT, {}, use), (e) => isRelayError(e, 'tools_refused'));
    await assert.rejects(model.answer(PROMPT, {}), (e) => isRelayError(e, 'provider_failed'));
  });
}

test('OpenAI gets the cache key, and a compatible server, which may not know it, does not', async () => {
  await using server = await startFakeModel(({ path }) =>
    path.endsWith('/v1/responses') ? { status: 404, message: 'Not Found' } : 'done',
  );
  const prompt = { ...PROMPT, cacheKey: 'same-beginning' };
  const openai = { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: `${server.url}/v1` };
  await openModel({}, openai, []).answer(prompt, {});
  const compatible = { RELAY_MODEL_URL: `${server.url}/v1`, RELAY_MODEL: 'local' };
  await openModel({}, compatible, []).answer(prompt, {});
  assert.deepEqual(
    server.asked.map(({ body }) => body.prompt_cache_key),
    ['same-beginning', 'same-beginning', undefined],
  );
});

test("the constant part of the prompt and the last result are marked for Anthropic's cache", async () => {
  await using server = await startFakeModel(({ results }) =>
    results.length === 0 ? { calls: [{ name: 'pull', arguments: {} }] } : 'done',
  );
  const model = openModel({}, server.env, []);
  const prompt = { system: 'be brief', stable: 'what is known\n', user: 'what is known\nwhat is asked' };
  const use = { tools: TOOLS, rounds: [], last: false };
  const answer = await model.answer(prompt, {}, use);
  await model.answer(prompt, {}, { ...use, rounds: [{ answer, results: ['found'] }] });
  const cache_control = { type: 'ephemeral' };
  const { system, messages } = server.asked[1]!.body;
  assert.deepEqual(system, [{ type: 'text', text: 'be brief', cache_control }]);
  assert.deepEqual(messages[0].content, [
    { type: 'text', text: 'what is known\n', cache_control },
    { type: 'text', text: 'what is asked' },
  ]);
  assert.deepEqual(messages[2].content, [
    { type: 'tool_result', tool_use_id: 'toolu_0', content: 'found', cache_control },
  ]);
  assert.equal(server.asked[0]!.user, prompt.user);
});
