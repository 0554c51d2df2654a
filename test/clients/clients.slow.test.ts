import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openProject } from '../../src/app/projects/project-files.ts';
import { ScratchFolder } from '../projects/scratch-folder.ts';
import { FakeModel } from './fake-model.ts';
import {
  type ClientName,
  installedClient,
  type Ran,
  runClient,
  trustedInCodex,
} from './installed-clients.ts';

/** Runs real clients from npm with a fake model on loopback, and checks which texts reach the model. */

const ROOT = resolve(import.meta.dirname, '../..');
const TASK = 'Sell oolong to offices';

interface Seen extends Ran {
  /** Bodies of all requests to the model, joined. */
  readonly sent: string;
}

async function createProject(): Promise<ScratchFolder> {
  const folder = new ScratchFolder();
  folder.git('init', '-q');
  const project = openProject(folder.path);
  await project.init();
  await project.sync({ task: TASK });
  return folder;
}

function program(t: TestContext, name: ClientName): string | null {
  const client = installedClient(name);
  if ('program' in client) return client.program;
  t.skip(client.missing);
  return null;
}

async function withModel(run: (url: string) => Promise<Ran>): Promise<Seen> {
  await using model = new FakeModel();
  const ran = await run(await model.start());
  return { ...ran, sent: model.requests.map(({ body }) => body).join('\n') };
}

/** Asserts that the request to the model contains the brief, the skill and the tools. */
function assertSetUp({ code, stdout, stderr, sent }: Seen): void {
  assert.equal(code, 0, `${stdout}\n${stderr}`);
  assert.ok(sent.includes(TASK), `the brief is in the request\n${stdout}\n${stderr}`);
  assert.ok(sent.includes('context-relay'), 'the skill is offered');
  assert.ok(sent.includes('push_context'), 'the tools are offered');
  assert.match(stdout, /All is well\./);
}

/** On a busy machine Claude Code may ask its model before a slow server has started, so retry. */
async function setUp(run: () => Promise<Seen>): Promise<Seen> {
  let seen = await run();
  for (let again = 2; again > 0 && !seen.sent.includes('push_context'); again--) seen = await run();
  assertSetUp(seen);
  return seen;
}

const claude = (binary: string, folder: ScratchFolder, args: readonly string[], env = {}) =>
  withModel((url) =>
    runClient(binary, ['-p', ...args, '--output-format', 'stream-json', '--verbose'], {
      cwd: folder.path,
      home: folder.home,
      env: {
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_API_KEY: 'sk-test',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_AUTOUPDATER: '1',
        MCP_TIMEOUT: '60000',
        ...env,
      },
    }),
  );

test('Claude Code starts with the brief, sees the skill, lists the tools, and runs /context-relay', async (t) => {
  const binary = program(t, 'claude');
  if (binary === null) return;
  using folder = await createProject();
  assert.equal((await folder.relay(['install', 'claude'])).code, 0);
  const seen = await setUp(() => claude(binary, folder, ['hello']));
  const start = seen.stdout
    .split('\n')
    .map((line) => (line ? JSON.parse(line) : {}))
    .find(({ subtype }) => subtype === 'init');
  assert.deepEqual(
    start.mcp_servers.map(({ name, status }: { name: string; status: string }) => [name, status]),
    [['relay', 'connected']],
  );
  assert.ok(start.slash_commands.includes('context-relay'));
  const [, lesson] = /^(You forget at the end of a session\.)/m.exec(
    readFileSync(join(ROOT, 'skill/context-relay/SKILL.md'), 'utf8'),
  )!;
  assert.ok(
    (await claude(binary, folder, ['/context-relay'])).sent.includes(lesson!),
    'the skill itself is in the request',
  );

  assert.equal((await folder.relay(['install', 'claude', '--remove'])).code, 0);
  const after = await claude(binary, folder, ['hello']);
  assert.ok(
    !after.sent.includes(TASK) && !after.sent.includes('push_context'),
    'and nothing of it once it is removed',
  );
});

test('the plugin gives Claude Code the brief, the skill, the tools and /context-relay', async (t) => {
  const binary = program(t, 'claude');
  if (binary === null) return;
  using folder = await createProject();
  mkdirSync(join(folder.home, 'bin'));
  symlinkSync(join(ROOT, 'relay'), join(folder.home, 'bin', 'relay'));
  const env = { PATH: `${join(folder.home, 'bin')}:${process.env.PATH}` };
  const args = ['hello', '--plugin-dir', join(ROOT, 'plugins/context-relay')];
  await setUp(() => claude(binary, folder, args, env));
  for (const path of ['.', 'plugins/context-relay']) {
    const checked = await runClient(binary, ['plugin', 'validate', path], {
      cwd: ROOT,
      home: folder.home,
      env: {},
    });
    assert.equal(checked.code, 0, checked.stdout);
  }
});

test('Codex runs the hooks only after they are trusted', async (t) => {
  const binary = program(t, 'codex');
  if (binary === null) return;
  using folder = await createProject();
  assert.equal((await folder.relay(['install', 'codex'])).code, 0);
  const codex = () =>
    withModel((url) => {
      const provider = `model_providers.fake={name="fake",base_url="${url}/v1",env_key="OPENAI_API_KEY",wire_api="responses"}`;
      // Raise the timeout, because a busy machine may need longer to start the server than Codex waits by default.
      const patience = ['mcp_servers.relay.required=true', 'mcp_servers.relay.startup_timeout_sec=60'];
      const settings = ['model_provider="fake"', provider, 'model="fake"', ...patience];
      const args = ['exec', '--json', ...settings.flatMap((setting) => ['-c', setting]), 'hello'];
      const env = { OPENAI_API_KEY: 'x', CODEX_HOME: join(folder.home, '.codex') };
      return runClient(binary, args, { cwd: folder.path, home: folder.home, env });
    });
  mkdirSync(join(folder.home, '.codex'));
  const trust = (lines: readonly string[]) =>
    folder.write(join('..', 'home', '.codex', 'config.toml'), lines.join('\n'));
  const [project, level] = trustedInCodex(folder);
  trust([project!, level!, '']);
  const before = await codex();
  assert.equal(before.code, 0, before.stderr);
  assert.ok(before.sent.includes('push_context'), 'the server needs no trust of its own');
  assert.ok(!before.sent.includes(TASK), 'an untrusted hook does not run');
  const env = { CODEX_HOME: join(folder.home, '.codex') };
  const readWarnings = async () =>
    (await folder.relay(['doctor', '--timeout', '60s'], { env })).stdout.match(
      /hooks [\w, ]+: (?:not )?trusted/g,
    );
  const hooks = 'hooks SessionStart, UserPromptSubmit, PreToolUse, PreCompact, Stop';
  assert.deepEqual(await readWarnings(), [`${hooks}: not trusted`]);

  // Trust the hooks as a user would. Codex accepts our digests only if `relay doctor` computes them correctly.
  trust(trustedInCodex(folder));
  assertSetUp(await codex());
  assert.deepEqual(await readWarnings(), [`${hooks}: trusted`]);
});

test('Gemini CLI starts with the brief, sees the skill and lists the tools in a trusted folder', async (t) => {
  const binary = program(t, 'gemini');
  if (binary === null) return;
  using folder = await createProject();
  assert.equal((await folder.relay(['install', 'gemini'])).code, 0);
  const user = (name: string, value: unknown) =>
    folder.write(join('..', 'home', '.gemini', name), JSON.stringify(value));
  user('settings.json', { security: { auth: { selectedType: 'gemini-api-key' } } });
  user('trustedFolders.json', { [folder.path]: 'TRUST_FOLDER' });
  const gemini = (args: readonly string[]) =>
    withModel((url) =>
      runClient(binary, args, {
        cwd: folder.path,
        home: folder.home,
        env: { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: 'x' },
      }),
    );
  assertSetUp(await gemini(['-p', 'hello', '-o', 'stream-json', '-m', 'gemini-2.5-pro']));
  const validated = await gemini(['extensions', 'validate', ROOT]);
  assert.equal(validated.code, 0, validated.stderr);
});

test('gemini -p rejects the tools of the relay until they are approved', async (t) => {
  const binary = program(t, 'gemini');
  if (binary === null) return;
  using folder = await createProject();
  const user = (name: string, value: unknown) =>
    folder.write(join('..', 'home', '.gemini', name), JSON.stringify(value));
  user('settings.json', { security: { auth: { selectedType: 'gemini-api-key' } } });
  user('trustedFolders.json', { [folder.path]: 'TRUST_FOLDER' });
  const answer = async (...flags: string[]) => {
    assert.equal((await folder.relay(['install', 'gemini', '--only', 'mcp', ...flags])).code, 0);
    let last = '';
    const push = { tool: 'push_context', args: { data: 'green tea', summary: 'a tea' } };
    await using model = new FakeModel((answers) => {
      last = answers.at(-1) ?? '';
      return answers.length === 0 ? push : { text: 'All is well.' };
    });
    const env = { GOOGLE_GEMINI_BASE_URL: await model.start(), GEMINI_API_KEY: 'x' };
    const args = ['-p', 'hello', '-o', 'stream-json', '-m', 'gemini-2.5-pro'];
    const ran = await runClient(binary, args, { cwd: folder.path, home: folder.home, env });
    return `${last}\n${ran.stdout.slice(-2_000)}\n${ran.stderr.slice(-1_000)}`;
  };
  assert.doesNotMatch(await answer(), /\/pull\//);
  assert.match(await answer('--approve-tools'), /\/pull\//);
});
