import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { AgentBridge } from '../../src/client/bridge/agent-bridge.ts';
import type { Runner } from '../../src/client/bridge/runner.ts';
import { AcpRunner } from '../../src/runners/acp.ts';
import { execRunner } from '../../src/runners/exec.ts';
import { startTestServer } from '../channels/server.ts';
import { FakeModel } from '../clients/fake-model.ts';
import { type ClientName, installedClient } from '../clients/installed-clients.ts';
import { ScratchFolder } from '../projects/scratch-folder.ts';
import { client, startWorker } from './bridge.ts';

/**
 * Real clients from npm behind a bridge. The task must reach the fake model, and the model's answer must become the
 * result.
 */

const TASK = 'Tell me how the "shop" is doing; $HOME and `ticks` are only words.';

interface Place {
  readonly binary: string;
  readonly folder: ScratchFolder;
  readonly model: string;
}

async function assertDoesTask(
  t: TestContext,
  name: ClientName,
  runnerOf: (place: Place) => Runner,
): Promise<void> {
  const found = installedClient(name);
  if ('missing' in found) {
    t.skip(found.missing);
    return;
  }
  using folder = new ScratchFolder();
  folder.git('init', '-q');
  await using model = new FakeModel();
  const runner = runnerOf({ binary: found.program, folder, model: await model.start() });
  await using server = await startTestServer();
  await using _ = await startWorker(server, runner, { timeout: 120_000 });
  const answer = await new AgentBridge(client(server)).sendAndWait(TASK, { timeout: 150_000 });
  assert.equal(answer.status, 'done', answer.text);
  assert.match(answer.text, /All is well\./);
  assert.ok(
    model.requests.some(({ body }) => body.includes(JSON.stringify(TASK).slice(1, -1))),
    'the model was asked with the task as it was sent',
  );
}

const environment = (folder: ScratchFolder, more: { [name: string]: string }) => ({
  PATH: process.env.PATH,
  HOME: folder.home,
  TERM: 'xterm-256color',
  ...more,
});

test('Claude Code does a task behind a bridge in headless mode', async (t) => {
  await assertDoesTask(t, 'claude', ({ binary, folder, model }) =>
    execRunner({
      command: `'${binary}' -p`,
      cwd: folder.path,
      env: environment(folder, {
        ANTHROPIC_BASE_URL: model,
        ANTHROPIC_API_KEY: 'sk-test',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_AUTOUPDATER: '1',
      }),
    }),
  );
});

test('Codex does a task behind a bridge in headless mode', async (t) => {
  await assertDoesTask(t, 'codex', ({ binary, folder, model }) => {
    const provider = `model_providers.fake={name="fake",base_url="${model}/v1",env_key="OPENAI_API_KEY",wire_api="responses"}`;
    const settings = ['model_provider="fake"', provider, 'model="fake"'].map((each) => `-c '${each}'`);
    mkdirSync(join(folder.home, '.codex'));
    return execRunner({
      command: `'${binary}' exec ${settings.join(' ')} -`,
      cwd: folder.path,
      env: environment(folder, { OPENAI_API_KEY: 'x', CODEX_HOME: join(folder.home, '.codex') }),
    });
  });
});

test('Gemini CLI does a task behind a bridge, over ACP', async (t) => {
  await assertDoesTask(t, 'gemini', ({ binary, folder, model }) => {
    const user = (name: string, value: unknown) =>
      folder.write(join('..', 'home', '.gemini', name), JSON.stringify(value));
    user('settings.json', { security: { auth: { selectedType: 'gemini-api-key' } } });
    user('trustedFolders.json', { [folder.path]: 'TRUST_FOLDER' });
    return new AcpRunner({
      command: `'${binary}' --acp -m gemini-2.5-pro`,
      cwd: folder.path,
      env: environment(folder, { GOOGLE_GEMINI_BASE_URL: model, GEMINI_API_KEY: 'x' }),
    });
  });
});
