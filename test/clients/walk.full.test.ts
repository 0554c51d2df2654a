import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openProject } from '../../src/app/projects/project-files.ts';
import { BRIEF_TOKENS } from '../../src/base/limits.ts';
import { TOOLS } from '../../src/interfaces/mcp/tools.ts';
import { ScratchFolder } from '../projects/scratch-folder.ts';
import { countTokens } from '../token-count.ts';
import { FakeModel } from './fake-model.ts';
import { type ClientName, installedClient, runClient, trustedInCodex } from './installed-clients.ts';

/** Passes work from one real client to the next. The model is fake, so the tests see which texts reach it. */

const ROOT = resolve(import.meta.dirname, '../..');
const ORDER: readonly ClientName[] = ['claude', 'codex', 'gemini', 'opencode'];
const NAMES = { claude: 'Claude Code', codex: 'Codex', gemini: 'Gemini CLI', opencode: 'OpenCode' };
/** The tool with which each client runs shell commands. */
const SHELLS = { claude: 'Bash', codex: 'exec_command', gemini: 'run_shell_command', opencode: 'bash' };
const TASK = 'Report the path of every invalid key';
const CONSTRAINT = 'The public types stay as they are';

/** Creates a repository with the sources of a published package and its project files. */
async function createRepository(): Promise<ScratchFolder> {
  const folder = new ScratchFolder();
  for (const name of ['package.json', 'README.md', 'src/v4/core'])
    cpSync(join(ROOT, 'node_modules/zod', name), join(folder.path, name), { recursive: true });
  folder.git('init', '-q', '-b', 'main');
  folder.git('add', '.');
  folder.git('commit', '-qm', 'core: parse objects');
  const project = openProject(folder.path);
  await project.init();
  folder.write('PROJECT.md', folder.read('PROJECT.md').replace(/^\[List what must.*$/m, `- ${CONSTRAINT}`));
  await project.sync({ task: TASK, next: ['find where keys are checked'] });
  mkdirSync(join(folder.home, 'bin'));
  symlinkSync(join(ROOT, 'relay'), join(folder.home, 'bin', 'relay'));
  return folder;
}

/** Returns how to start a client in the folder. Writes the settings that its user would confirm. */
const CLIENTS: {
  readonly [name in ClientName]: (
    folder: ScratchFolder,
    url: string,
  ) => { args: string[]; env: { [name: string]: string } };
} = {
  claude: (_folder, url) => ({
    args: ['-p', 'go on', '--output-format', 'stream-json', '--verbose', '--allowedTools', 'Bash'],
    env: {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: 'sk-test',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      ENABLE_TOOL_SEARCH: 'false',
      MCP_CONNECTION_NONBLOCKING: '0',
      MCP_TIMEOUT: '60000',
    },
  }),
  codex: (folder, url) => {
    folder.write('../home/.codex/config.toml', trustedInCodex(folder).join('\n'));
    const provider = `model_providers.fake={name="fake",base_url="${url}/v1",env_key="OPENAI_API_KEY",wire_api="responses"}`;
    const patience = ['mcp_servers.relay.required=true', 'mcp_servers.relay.startup_timeout_sec=60'];
    const settings = ['model_provider="fake"', provider, 'model="fake"', ...patience];
    const flags = ['exec', '--json', '--dangerously-bypass-approvals-and-sandbox'];
    return {
      args: [...flags, ...settings.flatMap((setting) => ['-c', setting]), 'go on'],
      env: { OPENAI_API_KEY: 'x', CODEX_HOME: join(folder.home, '.codex') },
    };
  },
  gemini: (folder, url) => {
    const auth = { security: { auth: { selectedType: 'gemini-api-key' } } };
    folder.write('../home/.gemini/settings.json', JSON.stringify(auth));
    folder.write('../home/.gemini/trustedFolders.json', JSON.stringify({ [folder.path]: 'TRUST_FOLDER' }));
    return {
      args: ['-p', 'go on', '-o', 'stream-json', '--approval-mode', 'yolo', '-m', 'gemini-2.5-pro'],
      env: { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: 'x' },
    };
  },
  opencode: (folder, url) => {
    const models = { fake: { name: 'fake', tool_call: true, limit: { context: 200_000, output: 8_000 } } };
    const options = { baseURL: `${url}/v1`, apiKey: 'x' };
    const config = {
      autoupdate: false,
      model: 'fake/fake',
      small_model: 'fake/fake',
      provider: { fake: { npm: '@ai-sdk/anthropic', name: 'fake', options, models } },
      permission: { '*': 'allow' },
    };
    folder.write('../home/.config/opencode/opencode.json', JSON.stringify(config));
    return {
      args: ['run', '--format', 'json', 'go on'],
      env: { OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1' },
    };
  },
};

type Json = { readonly [name: string]: unknown };

/** Runs a client once. Its model runs one shell command. Returns the first request to the model. */
async function session(
  name: ClientName,
  program: string,
  folder: ScratchFolder,
  command: string,
): Promise<Json> {
  const call = name === 'codex' ? { cmd: command } : { command, description: 'work' };
  const move = { tool: SHELLS[name], args: call };
  const marker = SHELLS[name];
  await using model = new FakeModel(
    (answers) => (answers.length === 0 ? move : { text: 'All is well.' }),
    marker,
  );
  const { args, env } = CLIENTS[name](folder, await model.start());
  const PATH = `${join(folder.home, 'bin')}:${process.env.PATH}`;
  const o = { cwd: folder.path, home: folder.home, env: { PATH, ...env } };
  const ran = await runClient(program, args, o);
  const requests = model.requests.map(({ body }): Json => (body.startsWith('{') ? JSON.parse(body) : {}));
  const first = requests.find(({ tools }) => JSON.stringify(tools ?? '').includes(`${marker}"`));
  assert.ok(first, `${name}\n${ran.stdout}\n${ran.stderr}`);
  return first;
}

/** Returns all texts of a request, without its tools. */
function textsOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(textsOf).join('\n');
  if (typeof value !== 'object' || value === null) return '';
  return Object.entries(value)
    .map(([key, each]) => (key === 'tools' ? '' : textsOf(each)))
    .join('\n');
}

/** Returns the tools of the relay without the parameter that Gemini CLI adds to each tool. */
function relayTools(tools: readonly Json[]): Json[] {
  const ownNames = TOOLS.map(({ name }) => name);
  return tools.flatMap((tool): Json[] => {
    const nested = tool.functionDeclarations ?? (tool.type === 'namespace' ? tool.tools : undefined);
    if (nested !== undefined) return relayTools(nested as Json[]);
    if (!ownNames.some((name) => String(tool.name).endsWith(name))) return [];
    const text = JSON.stringify(tool, (key, value) => (key === 'wait_for_previous' ? undefined : value));
    return [JSON.parse(text)];
  });
}

/** Counts the tokens of an installed relay in a request: tools, skill and instructions, without the brief. */
function costOf(request: Json, brief: string): number {
  const lines = textsOf(request).replace(brief, '').split('\n');
  // Ignore lines of the file tree that Gemini CLI draws.
  const ownLines = lines.filter(
    (line) => /context-relay|push_context/.test(line) && !/^[│├└ ]*[├└]/.test(line),
  );
  const tools = JSON.stringify(relayTools((request.tools ?? []) as Json[]));
  return countTokens(tools).tokens + countTokens(ownLines.join('\n')).tokens;
}

/** Returns the programs of all clients. Skips the test if one is missing. */
function programs(t: TestContext): { readonly [name: string]: string } | null {
  const programPaths: { [name: string]: string } = {};
  for (const name of ORDER) {
    const client = installedClient(name);
    if (!('program' in client)) {
      t.skip(client.missing);
      return null;
    }
    programPaths[name] = client.program;
  }
  return programPaths;
}

test('work goes from Claude Code to Codex, Gemini CLI and OpenCode, and each gets the work of the previous one', async (t) => {
  const program = programs(t);
  if (program === null) return;
  using folder = await createRepository();
  const installed = await folder.relay(['install', ...ORDER], {
    env: { PATH: `${join(folder.home, 'bin')}:${process.env.PATH}` },
  });
  assert.equal(installed.code, 0, installed.stderr);
  folder.git('add', '.');
  folder.git('commit', '-qm', 'project: set up');

  const guide = readFileSync(join(ROOT, 'docs/coding-agents.md'), 'utf8');
  let left = ['find where keys are checked'];
  for (const [index, name] of ORDER.entries()) {
    const file = `src/v4/core/${['parse', 'errors', 'checks', 'util'][index]}.ts`;
    const open = `cover the case that ${name} found`;
    const stuck = `${name} waits for a decision about arrays`;
    const relay = join(folder.home, 'bin', 'relay');
    const sync = `${relay} project sync --done "read ${file}" --next "${open}" --blocked "${stuck}"`;
    const request = await session(name, program[name]!, folder, `echo '// ${name}' >> ${file} && ${sync}`);
    const requestText = textsOf(request);
    const expected = [TASK, CONSTRAINT, 'Test: npm test = ', 'In src/: v4/', ...left];
    for (const phrase of expected)
      assert.ok(requestText.includes(phrase), `${name}: ${phrase}\n${requestText.slice(-6_000)}`);
    assert.equal(requestText.split('# Project brief: zod').length, 2, 'the brief is there once');
    assert.match(folder.read('state.json'), new RegExp(open), `${name} ran its command`);
    left = [...left, open, stuck, `M ${file}`];

    // Count the brief as BRIEF_TOKENS, its maximum. The brief of this repository is shorter.
    const [brief = ''] =
      /# Project brief: zod[\s\S]*?relay project sync --done[^\n]*/.exec(requestText) ?? [];
    const ownTokens = costOf(request, brief);
    t.diagnostic(`${NAMES[name]}: ${ownTokens} tokens and a brief of ${countTokens(brief).tokens}`);
    assert.ok(ownTokens + BRIEF_TOKENS <= 3_000, `${name}: ${ownTokens} + ${BRIEF_TOKENS}`);
    const row = guide.split('\n').find((line) => line.startsWith(`| ${NAMES[name]} |`)) ?? '';
    const documented = Number(row.split('|')[2]?.replace(/\D/g, ''));
    assert.ok(Math.abs(documented - ownTokens) <= 60, `docs/coding-agents.md says ${row}, not ${ownTokens}`);
  }
});
