import assert from 'node:assert/strict';
import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openProject } from '../../src/app/projects/project-files.ts';
import { ScratchFolder } from '../projects/scratch-folder.ts';
import { FakeModel } from './fake-model.ts';
import { type ClientName, installedClient, runClient, trustedInCodex } from './installed-clients.ts';

/** Opens a folder with committed hooks in the client of a user who has not installed relay. */

const ROOT = resolve(import.meta.dirname, '../..');
const TASK = 'Sell oolong to offices';

interface Start {
  readonly args: readonly string[];
  readonly env: { readonly [name: string]: string };
}

/** Clients whose hooks are commands. */
type Hooked = Exclude<ClientName, 'opencode'>;

const CLIENTS: { readonly [name in Hooked]: (folder: ScratchFolder, model: string) => Start } = {
  claude: (_folder, model) => ({
    args: ['-p', 'hello', '--output-format', 'stream-json', '--verbose'],
    env: {
      ANTHROPIC_BASE_URL: model,
      ANTHROPIC_API_KEY: 'sk-test',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
    },
  }),
  codex: (folder, model) => {
    const provider = `model_providers.fake={name="fake",base_url="${model}/v1",env_key="OPENAI_API_KEY",wire_api="responses"}`;
    const settings = ['model_provider="fake"', provider, 'model="fake"'];
    folder.write(join('..', 'home', '.codex', 'config.toml'), trustedInCodex(folder).join('\n'));
    return {
      args: ['exec', '--json', ...settings.flatMap((setting) => ['-c', setting]), 'hello'],
      env: { OPENAI_API_KEY: 'x', CODEX_HOME: join(folder.home, '.codex') },
    };
  },
  gemini: (folder, model) => {
    const user = (name: string, value: unknown) =>
      folder.write(join('..', 'home', '.gemini', name), JSON.stringify(value));
    user('settings.json', { security: { auth: { selectedType: 'gemini-api-key' } } });
    user('trustedFolders.json', { [folder.path]: 'TRUST_FOLDER' });
    return {
      args: ['-p', 'hello', '-o', 'stream-json', '-m', 'gemini-2.5-pro'],
      env: { GOOGLE_GEMINI_BASE_URL: model, GEMINI_API_KEY: 'x' },
    };
  },
};

async function createProject(): Promise<ScratchFolder> {
  const folder = new ScratchFolder();
  folder.git('init', '-q');
  const project = openProject(folder.path);
  await project.init();
  await project.sync({ task: TASK });
  mkdirSync(join(folder.root, 'bin'));
  symlinkSync(join(ROOT, 'relay'), join(folder.root, 'bin', 'relay'));
  return folder;
}

const withRelay = (folder: ScratchFolder) => `${join(folder.root, 'bin')}${delimiter}${process.env.PATH}`;

/** Sends one prompt; returns the client's output and the requests to the model. */
async function ask(client: Hooked, program: string, folder: ScratchFolder, o: Partial<Start> = {}) {
  await using model = new FakeModel();
  const { args, env } = CLIENTS[client](folder, await model.start());
  const ran = await runClient(program, [...args, ...(o.args ?? [])], {
    cwd: folder.path,
    home: folder.home,
    env: { ...env, ...o.env },
  });
  return { ...ran, requests: model.requests.length, sent: model.requests.map(({ body }) => body).join('\n') };
}

type Answer = Awaited<ReturnType<typeof ask>>;

/**
 * Asserts that the client answered, sent its model as many requests as without hooks, and printed no error of a hook.
 */
function assertUndisturbed(result: Answer, plain: Answer): void {
  const output = `${result.stdout}\n${result.stderr}`;
  assert.equal(result.code, 0, output);
  assert.match(result.stdout, /All is well\./);
  assert.equal(result.requests, plain.requests, output);
  for (const text of [result.sent, output]) assert.doesNotMatch(text, /relay: (?:command )?not found/i);
}

function program(t: TestContext, name: ClientName): string | null {
  const client = installedClient(name);
  if ('program' in client) return client.program;
  t.skip(client.missing);
  return null;
}

for (const client of ['claude', 'codex', 'gemini'] as const) {
  test(`${client} works as if nothing was installed if relay is not on the PATH`, async (t) => {
    const binary = program(t, client);
    if (binary === null) return;
    using folder = await createProject();
    const plain = await ask(client, binary, folder);
    const env = { PATH: withRelay(folder) };
    assert.equal((await folder.relay(['install', client], { env })).code, 0);
    assertUndisturbed(await ask(client, binary, folder), plain);
    const answer = await ask(client, binary, folder, { env });
    assert.ok(answer.sent.includes(TASK), `the brief is in the request\n${answer.stdout}\n${answer.stderr}`);
  });
}

test('the Claude plugin does nothing if relay is not on the PATH', async (t) => {
  const binary = program(t, 'claude');
  if (binary === null) return;
  using folder = await createProject();
  const plain = await ask('claude', binary, folder);
  const args = ['--plugin-dir', join(ROOT, 'plugins/context-relay')];
  assertUndisturbed(await ask('claude', binary, folder, { args }), plain);
});

test('the Gemini extension does nothing if relay is not on the PATH', async (t) => {
  const binary = program(t, 'gemini');
  if (binary === null) return;
  using folder = await createProject();
  const plain = await ask('gemini', binary, folder);
  const place = join(folder.home, '.gemini', 'extensions', 'context-relay');
  mkdirSync(place, { recursive: true });
  for (const part of ['gemini-extension.json', 'hooks', 'skill'])
    cpSync(join(ROOT, part), join(place, part === 'skill' ? 'skills' : part), { recursive: true });
  assertUndisturbed(await ask('gemini', binary, folder), plain);
  const answer = await ask('gemini', binary, folder, { env: { PATH: withRelay(folder) } });
  assert.ok(answer.sent.includes(TASK), `the brief is in the request\n${answer.stdout}\n${answer.stderr}`);
});
