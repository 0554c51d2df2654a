import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { FakeModel } from '../clients/fake-model.ts';
import { type ClientName, installedClient } from '../clients/installed-clients.ts';
import { ScratchFolder } from '../projects/scratch-folder.ts';

/**
 * Wraps real clients from npm. The prompt must reach the fake model, and the model's answer must be printed and stored.
 */

const WORDS = 'Tell me how the "shop" is doing; $HOME and `ticks` are only words.';

interface Wrapped {
  readonly args: readonly string[];
  readonly env: { readonly [name: string]: string };
}

async function assertAnswersWhenWrapped(
  t: TestContext,
  name: ClientName,
  settings: (folder: ScratchFolder, model: string) => Wrapped,
): Promise<void> {
  const found = installedClient(name);
  if ('missing' in found) {
    t.skip(found.missing);
    return;
  }
  using folder = new ScratchFolder();
  folder.git('init', '-q');
  await using model = new FakeModel();
  const { args, env } = settings(folder, await model.start());
  const line = ['wrap', 'run', '--cli', found.program, WORDS, ...(args.length > 0 ? ['--', ...args] : [])];
  const { code, stdout, stderr } = await folder.relay(line, { env: { ...env } });
  assert.equal(code, 0, stderr);
  assert.match(stdout, /All is well\./);
  assert.match(stderr, /answer [0-9a-f]{26} · state v\d/);
  const escapedWords = JSON.stringify(WORDS).slice(1, -1);
  const requests = model.requests.filter(({ body }) => body.includes(escapedWords));
  assert.ok(requests.length > 0, 'the model was asked with the words as they were said');
  assert.ok(
    requests.some(({ body }) => body.includes('Your task:')),
    'the prompt came with them',
  );
}

test('Claude Code answers through relay wrap', async (t) => {
  await assertAnswersWhenWrapped(t, 'claude', (_, model) => ({
    args: [],
    env: {
      ANTHROPIC_BASE_URL: model,
      ANTHROPIC_API_KEY: 'sk-test',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
    },
  }));
});

test('Codex answers through relay wrap', async (t) => {
  await assertAnswersWhenWrapped(t, 'codex', (folder, model) => {
    const provider = `model_providers.fake={name="fake",base_url="${model}/v1",env_key="OPENAI_API_KEY",wire_api="responses"}`;
    const home = join(folder.home, '.codex');
    mkdirSync(home);
    return {
      args: ['model_provider="fake"', provider, 'model="fake"'].flatMap((each) => ['-c', each]),
      env: { OPENAI_API_KEY: 'x', CODEX_HOME: home },
    };
  });
});

test('Gemini CLI answers through relay wrap', async (t) => {
  await assertAnswersWhenWrapped(t, 'gemini', (folder, model) => {
    const user = (name: string, value: unknown) =>
      folder.write(join('..', 'home', '.gemini', name), JSON.stringify(value));
    user('settings.json', { security: { auth: { selectedType: 'gemini-api-key' } } });
    user('trustedFolders.json', { [folder.path]: 'TRUST_FOLDER' });
    return { args: ['-m', 'gemini-2.5-pro'], env: { GOOGLE_GEMINI_BASE_URL: model, GEMINI_API_KEY: 'x' } };
  });
});
