import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startGuarded } from '../keys/guarded-relay.ts';
import { ScratchFolder } from '../projects/scratch-folder.ts';
import { FakeModel } from './fake-model.ts';
import { type ClientName, installedClient, runClient } from './installed-clients.ts';

const SECRET = 'the plan is under the third stone';

/**
 * Makes each client trust the folder, and returns its arguments. Both clients hide environment variables from MCP
 * servers.
 */
const CLIENTS: {
  readonly [name in 'codex' | 'gemini']: (o: { folder: ScratchFolder; model: string }) => {
    args: string[];
    env: { [name: string]: string };
  };
} = {
  codex: ({ folder, model }) => {
    mkdirSync(join(folder.home, '.codex'), { recursive: true });
    folder.write('../home/.codex/config.toml', `[projects."${folder.path}"]\ntrust_level = "trusted"\n`);
    const settings = [
      'model_provider="fake"',
      `model_providers.fake={name="fake",base_url="${model}/v1",env_key="OPENAI_API_KEY",wire_api="responses"}`,
      'model="fake"',
      'mcp_servers.relay.required=true',
      'mcp_servers.relay.startup_timeout_sec=60',
    ];
    return {
      args: ['exec', '--json', '--skip-git-repo-check', ...settings.flatMap((line) => ['-c', line]), 'hello'],
      env: { OPENAI_API_KEY: 'x', CODEX_HOME: join(folder.home, '.codex') },
    };
  },
  gemini: ({ folder, model }) => {
    const user = (name: string, value: unknown) =>
      folder.write(`../home/.gemini/${name}`, JSON.stringify(value));
    user('settings.json', { security: { auth: { selectedType: 'gemini-api-key' } } });
    user('trustedFolders.json', { [folder.path]: 'TRUST_FOLDER' });
    return {
      args: ['-p', 'hello', '-o', 'stream-json', '--approval-mode', 'yolo', '-m', 'gemini-2.5-pro'],
      env: { GOOGLE_GEMINI_BASE_URL: model, GEMINI_API_KEY: 'x' },
    };
  },
};

for (const name of ['codex', 'gemini'] as const satisfies readonly ClientName[]) {
  test(`the tools of ${name} use the relay and the key from its environment, and read nothing without a key`, async (t) => {
    const client = installedClient(name);
    if (!('program' in client)) return t.skip(client.missing);
    using folder = new ScratchFolder();
    await using relay = await startGuarded();
    const { key } = await relay.key({ scopes: ['push', 'pull', 'subscribe'] });
    const url = (await relay.ask('POST', '/push', { key, body: SECRET })).json.url as string;
    const approve = name === 'codex' ? ['--approve-tools'] : [];
    assert.equal((await folder.relay(['install', name, ...approve])).code, 0);
    const tools = async (variables: { [name: string]: string }): Promise<string> => {
      const called = { tool: 'pull_context', args: { url } };
      await using model = new FakeModel((answers) =>
        answers.length === 0 ? called : { text: 'All is well.' },
      );
      const { args, env } = CLIENTS[name]({ folder, model: await model.start() });
      const o = {
        cwd: folder.path,
        home: folder.home,
        env: { ...env, CONTEXTRELAY_URL: relay.url, ...variables },
      };
      const { code, stdout, stderr } = await runClient(client.program, args, o);
      assert.equal(code, 0, `${stdout}\n${stderr}`);
      return model.requests.map(({ body }) => body).join('\n');
    };
    assert.ok((await tools({ CONTEXTRELAY_API_KEY: key })).includes(SECRET));
    const without = await tools({});
    assert.ok(without.includes('push_context') && !without.includes(SECRET));
  });
}
