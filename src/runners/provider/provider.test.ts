import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { type Reply, startFakeModel } from '../../../examples/fake-model.ts';
import { KEY, PROVIDER_ENVIRONMENTS } from '../../../test/prompts/providers.ts';
import { isRelayError } from '../../base/errors.ts';
import { anthropic } from './anthropic.ts';
import { openModel, providerModel } from './provider.ts';

const PROMPT = { system: 'be brief', user: 'hello there' };

for (const [provider, env, path, header] of PROVIDER_ENVIRONMENTS) {
  test(`${provider} gets requests in its own format, streams, and reports the billed tokens`, async () => {
    const text = 'Grüße, 世界! 👋 And a longer end so that it comes in many pieces.';
    await using server = await startFakeModel(() => text);
    const model = openModel({}, env(server.url), []);
    const pieces: string[] = [];
    const answer = await model.answer(PROMPT, { onText: (piece) => pieces.push(piece) });
    assert.equal(answer.text, text);
    assert.equal(pieces.join(''), text);
    assert.ok(pieces.length > 3);
    const cached = provider === 'ollama' ? {} : { cached_input_tokens: 0 };
    assert.deepEqual(answer.billed, {
      input_tokens: 5,
      output_tokens: Math.ceil(text.length / 4),
      ...cached,
    });
    const [request] = server.asked;
    assert.equal(request!.path, path);
    assert.deepEqual([request!.system, request!.user], ['be brief', 'hello there']);
    assert.ok(request!.maxTokens! > 0);
    assert.ok(model.name.startsWith(`${provider}/`));
    if (header) assert.ok(String(request!.headers[header]).includes(KEY));
    else assert.ok(!JSON.stringify(request!.headers).includes(KEY));
  });

  test(`${provider}: an answer that is cut off is a failure, not a short answer`, async () => {
    await using server = await startFakeModel(() => ({ text: 'only half of', breaksOff: true }));
    const model = openModel({}, env(server.url), []);
    await assert.rejects(model.answer(PROMPT, {}), (e) => isRelayError(e, 'provider_failed'));
  });

  test(`${provider}: an answer that reached its limit says so`, async () => {
    await using server = await startFakeModel(() => ({ text: 'and then', cut: true }));
    assert.equal((await openModel({}, env(server.url), []).answer(PROMPT, {})).cut, true);
  });

  test(`${provider}: a refusal is reported as one`, {
    skip: provider === 'ollama' && 'Ollama does not say that it refused',
  }, async () => {
    await using server = await startFakeModel(() => ({ text: 'I cannot', refused: true }));
    const answer = await openModel({}, env(server.url), []).answer(PROMPT, {});
    assert.deepEqual([answer.refused, answer.text], [true, 'I cannot']);
  });
}

test('an OpenAI-compatible server without the responses API is called with the chat API', async () => {
  await using server = await startFakeModel(({ path }) =>
    path.endsWith('/responses') ? { status: 404, message: 'Not Found' } : 'by chat',
  );
  const model = openModel({}, { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: `${server.url}/v1` }, []);
  for (const _ of [1, 2]) assert.equal((await model.answer(PROMPT, {})).text, 'by chat');
  assert.deepEqual(
    server.asked.map(({ path }) => path),
    ['/v1/responses', '/v1/chat/completions', '/v1/chat/completions'],
  );
});

const connection = (url: string) => ({
  provider: 'anthropic',
  url: `${url}/v1/messages`,
  headers: { 'x-api-key': KEY },
  model: 'm',
  keyName: 'ANTHROPIC_API_KEY',
  models: '',
  pause: async () => {},
});

test('a busy provider is retried a limited number of times', async () => {
  const replies: Reply[] = [
    { status: 429, message: 'slow down', retryAfter: 1 },
    { status: 529, message: 'busy' },
    'ok',
  ];
  await using server = await startFakeModel(() => replies[server.asked.length - 1] ?? 'too often');
  const { text } = await providerModel(connection(server.url), anthropic, 100).answer(PROMPT, {});
  assert.equal(text, 'ok');
  await using broken = await startFakeModel(() => ({ status: 500, message: 'oh no' }));
  const failing = providerModel(connection(broken.url), anthropic, 100).answer(PROMPT, {});
  await assert.rejects(failing, (e) => isRelayError(e, 'provider_failed') && /500, oh no/.test(e.message));
  assert.equal(broken.asked.length, 3);
});

test('a rejected key is reported with the name of its variable, and never with the key', async () => {
  await using server = await startFakeModel(() => ({ status: 401, message: `invalid x-api-key ${KEY}` }));
  await assert.rejects(providerModel(connection(server.url), anthropic, 100).answer(PROMPT, {}), (error) => {
    assert.ok(isRelayError(error, 'provider_refused'));
    assert.match(error.hint, /ANTHROPIC_API_KEY/);
    assert.ok(!`${error.message} ${error.hint}`.includes(KEY));
    return true;
  });
  assert.equal(server.asked.length, 1);
});

const UNKNOWN: readonly [string, number, object][] = [
  ['anthropic', 404, { type: 'error', error: { type: 'not_found_error', message: 'model: no-such' } }],
  ['openai', 404, { error: { message: 'The model `no-such` does not exist', code: 'model_not_found' } }],
  ['openai', 403, { error: { message: 'Your project has no access', code: 'model_not_found' } }],
  ['ollama', 404, { error: 'model "no-such" not found, try pulling it first' }],
  ['compatible', 404, { object: 'error', message: 'The model `no-such` does not exist.' }],
];

test('an unknown model is reported by name, with the ways to choose another', async () => {
  for (const [provider, status, body] of UNKNOWN) {
    const server = createServer((_, response) => response.writeHead(status).end(JSON.stringify(body)));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const keys = { ANTHROPIC_API_KEY: KEY, OPENAI_API_KEY: KEY };
    const asking = openModel({ provider, model: 'no-such', baseUrl }, keys, []).answer(PROMPT, {});
    await assert.rejects(asking, (error) => {
      assert.ok(isRelayError(error, 'model_unknown'), String(error));
      assert.match(error.message, new RegExp(`^${provider} does not offer the model "no-such"`));
      assert.match(error.hint, /--model NAME, RELAY_MODEL, or "models" in config\.json/);
      assert.ok(error.hint.includes(`{"models": {"${provider}": "NAME"}}`));
      return true;
    });
    server.closeAllConnections();
    server.close();
  }
  await using wrong = await startFakeModel(() => ({ status: 404, message: 'no such page' }));
  const lost = openModel({ model: 'some' }, { ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: wrong.url }, []);
  await assert.rejects(lost.answer(PROMPT, {}), { code: 'provider_failed' });
});

test('a flag overrides the environment, the environment the configuration, and the configuration the default', () => {
  const keys = { ANTHROPIC_API_KEY: KEY, OPENAI_API_KEY: KEY };
  const preferred = { provider: 'openai', models: { openai: 'mine', ollama: 'small' } };
  const name = (choice: object, env: object) => openModel(choice, { ...keys, ...env }, [], preferred).name;
  assert.equal(name({}, {}), 'openai/mine');
  assert.equal(name({}, { RELAY_MODEL: 'other' }), 'openai/other');
  assert.equal(name({ model: 'best' }, { RELAY_MODEL: 'other' }), 'openai/best');
  assert.equal(name({}, { RELAY_PROVIDER: 'ollama' }), 'ollama/small');
  assert.equal(name({ provider: 'anthropic' }, { RELAY_PROVIDER: 'ollama' }), openModel({}, keys, []).name);
});

test('a key does not follow a redirect to another host', async () => {
  await using elsewhere = await startFakeModel(() => 'stolen');
  const server = createServer((_, response) =>
    response.writeHead(307, { location: `${elsewhere.url}/v1/messages` }).end(),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await assert.rejects(providerModel(connection(url), anthropic, 100).answer(PROMPT, {}));
  server.closeAllConnections();
  server.close();
  assert.equal(elsewhere.asked.length, 0);
});

test('an unreachable provider is reported with its address', async () => {
  const model = providerModel(connection('http://127.0.0.1:9'), anthropic, 100);
  await assert.rejects(
    model.answer(PROMPT, {}),
    (e) => isRelayError(e, 'provider_unreachable') && e.message.includes('127.0.0.1:9'),
  );
});

test('the request ends when it is aborted', async () => {
  await using server = await startFakeModel(() => new Promise<string>(() => {}));
  const stop = new AbortController();
  const asking = providerModel(connection(server.url), anthropic, 100).answer(PROMPT, {
    signal: stop.signal,
  });
  setTimeout(() => stop.abort(), 20);
  await assert.rejects(asking, (e) => isRelayError(e, 'aborted'));
});

test('without a key the error says what to set and which programs are installed', () => {
  const error = (found: string[]) => {
    try {
      openModel({}, {}, found);
    } catch (e) {
      if (isRelayError(e, 'no_model')) return `${e.message} ${e.hint}`;
    }
    throw new Error('it was not refused');
  };
  assert.match(error(['claude', 'codex']), /ANTHROPIC_API_KEY.*--cli claude, --cli codex/);
  assert.match(error([]), /OPENAI_API_KEY.*OLLAMA_HOST/);
  assert.throws(() => openModel({ provider: 'openai' }, {}, []), /OPENAI_API_KEY/);
  assert.throws(() => openModel({ provider: 'nobody' }, {}, []), /no provider "nobody"/);
});

test('a silent provider times out, before its answer and during it', async () => {
  const silent = createServer((request, response) => {
    if (request.url === '/half/v1/messages') response.writeHead(200).write('event: ping\n\n');
  });
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  for (const base of [url, `${url}/half`]) {
    const env = { ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: base };
    const model = openModel({}, env, [], { provider: null, models: {}, timeoutMs: 50 });
    const waits: number[] = [];
    await assert.rejects(model.answer(PROMPT, { onSilence: (ms) => waits.push(ms) }), (error) => {
      assert.ok(isRelayError(error, 'provider_silent'), String(error));
      assert.match(error.message, /^anthropic at http:\S+ has sent nothing for 0\.05 seconds/);
      assert.match(error.hint, /RELAY_MODEL_TIMEOUT/);
      return true;
    });
    assert.ok(waits.length >= 1);
  }
  silent.closeAllConnections();
  silent.close();
});

test('a request that the provider rejects as invalid is not retried', async () => {
  for (const status of [400, 413, 422]) {
    await using server = await startFakeModel(() => ({ status, message: 'prompt is too long' }));
    await assert.rejects(
      providerModel(connection(server.url), anthropic, 100).answer(PROMPT, {}),
      (error) => {
        assert.ok(isRelayError(error, 'provider_failed'));
        assert.match(error.message, new RegExp(`${status}, prompt is too long`));
        assert.doesNotMatch(error.hint, /try again|later/i);
        return true;
      },
    );
    assert.equal(server.asked.length, 1);
  }
});

test('Ollama gets a context window that fits the prompt, the tools and the answer', async () => {
  await using server = await startFakeModel(() => 'ok');
  const model = openModel({ maxTokens: 1_000 }, { OLLAMA_HOST: server.url }, []);
  await model.answer(PROMPT, {});
  await model.answer({ system: 'be brief', user: 'word '.repeat(20_000) }, {});
  const windows = server.asked.map(({ body }) => body.options.num_ctx);
  assert.equal(windows[0], 4_096, 'the size that Ollama uses by itself');
  assert.equal(windows[1], 65_536, 'a power of two, so that the model is seldom loaded again');
});
