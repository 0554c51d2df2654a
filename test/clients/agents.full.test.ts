import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { cleanEnv, ENTRY, NODE } from '../cli/program.ts';
import { ScratchFolder } from '../projects/scratch-folder.ts';
import { FakeModel, type Move } from './fake-model.ts';
import {
  type ClientName,
  installedClient,
  PACKAGES,
  runClient,
  trustedInCodex,
} from './installed-clients.ts';

/** Sends messages to real coding agents. Their model is fake, so the tests see which messages reach it. */

type State = 'idle' | 'busy' | 'closed' | 'restarted';

interface Launch {
  /** Arguments that run one prompt without a terminal. */
  readonly args: readonly string[];
  readonly env: { readonly [name: string]: string };
}

/** A session that stays open between prompts. */
interface OpenSession {
  ask(prompt: string): unknown;
  /** Ends the process of the session and starts it again. */
  restart?(): Promise<void>;
}

interface Client {
  readonly shell: string;
  /** Configures the client as its user would, and returns how to run it. */
  launch(folder: ScratchFolder, url: string): Launch;
  open(place: Workplace): OpenSession | Promise<OpenSession>;
  /** Reach of an idle session, as `relay agents` reports it. */
  readonly reach: string;
  /** Expected route in a message's receipt, by state of the session. */
  readonly routes: { readonly [state in State]?: string };
  /** Writes the file `a.txt`. */
  edit(folder: ScratchFolder): Move;
  /** Arguments that continue the session that `args` ran. */
  again?(args: readonly string[]): readonly string[];
}

const CLIENTS: { readonly [name in ClientName]: Client } = {
  claude: {
    shell: 'Bash',
    reach: 'now',
    routes: { idle: 'claude-socket', busy: 'claude-socket', closed: 'hook' },
    edit: ({ path }) => ({ tool: 'Write', args: { file_path: join(path, 'a.txt'), content: 'text' } }),
    launch: (_folder, url) => ({
      args: ['-p', 'go on', '--output-format', 'stream-json', '--verbose', '--allowedTools', 'Bash,Write'],
      env: {
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_API_KEY: 'sk-test',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_AUTOUPDATER: '1',
      },
    }),
    open(place) {
      const flags = ['--input-format', 'stream-json', ...place.launch.args.slice(2)];
      const { stdin } = place.start(place.program, ['-p', ...flags]);
      return {
        ask: (content) =>
          stdin!.write(`${JSON.stringify({ type: 'user', message: { role: 'user', content } })}\n`),
      };
    },
  },
  codex: {
    shell: 'exec_command',
    reach: 'now',
    routes: { idle: 'codex-queue', busy: 'codex-queue', closed: 'codex-queue' },
    edit: () => ({
      tool: 'apply_patch',
      args: { input: '*** Begin Patch\n*** Add File: a.txt\n+text\n*** End Patch' },
    }),
    launch(folder, url) {
      const fake = `{name="fake",base_url="${url}/v1",env_key="OPENAI_API_KEY",wire_api="responses"}`;
      // Use the name of a known model, because Codex offers the tool for patches only to models that it knows.
      const config = ['model_provider="fake"', 'model="gpt-5.5"', `model_providers.fake=${fake}`];
      folder.write('../home/.codex/config.toml', [...config, ...trustedInCodex(folder)].join('\n'));
      return {
        args: ['exec', '--json', '--dangerously-bypass-approvals-and-sandbox', 'go on'],
        env: { OPENAI_API_KEY: 'x', CODEX_HOME: join(folder.home, '.codex') },
      };
    },
    // Codex delivers the messages in the queue of a thread when the thread is resumed.
    again: (args) => ['exec', 'resume', ...args.slice(2, -1), '--last', 'go on'],
    async open(place) {
      const server = new JsonRpc(place.start(place.program, ['app-server']));
      await server.call('initialize', { clientInfo: { name: 'test', version: '1' } });
      server.notify('initialized');
      const access = { approvalPolicy: 'never', sandbox: 'danger-full-access' };
      const { thread } = await server.call('thread/start', { cwd: place.folder.path, ...access });
      return {
        ask: (text) => server.call('turn/start', { threadId: thread.id, input: [{ type: 'text', text }] }),
      };
    },
  },
  gemini: {
    shell: 'run_shell_command',
    reach: 'turn',
    routes: { idle: 'hook', busy: 'stop-hook', closed: 'hook' },
    edit: ({ path }) => ({ tool: 'write_file', args: { file_path: join(path, 'a.txt'), content: 'text' } }),
    launch(folder, url) {
      const auth = { security: { auth: { selectedType: 'gemini-api-key' } } };
      folder.write('../home/.gemini/settings.json', JSON.stringify(auth));
      folder.write('../home/.gemini/trustedFolders.json', JSON.stringify({ [folder.path]: 'TRUST_FOLDER' }));
      return {
        args: ['-p', 'go on', '-o', 'stream-json', '--approval-mode', 'yolo', '-m', 'gemini-2.5-pro'],
        env: { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: 'x' },
      };
    },
    async open(place) {
      const agent = new JsonRpc(place.start(place.program, ['--acp', ...place.launch.args.slice(4)]));
      await agent.call('initialize', { protocolVersion: 1, clientCapabilities: {} });
      const { sessionId } = await agent.call('session/new', { cwd: place.folder.path, mcpServers: [] });
      return { ask: (text) => agent.call('session/prompt', { sessionId, prompt: [{ type: 'text', text }] }) };
    },
  },
  opencode: {
    shell: 'bash',
    reach: 'now',
    // `restarted` has another route: a restarted server loads the plugin only with its first prompt.
    routes: { idle: 'opencode', busy: 'opencode', closed: 'hook', restarted: 'opencode-http' },
    edit: ({ path }) => ({ tool: 'write', args: { filePath: join(path, 'a.txt'), content: 'text' } }),
    launch(folder, url) {
      const limit = { context: 200_000, output: 8_000 };
      const models = { fake: { name: 'fake', tool_call: true, limit } };
      const options = { baseURL: `${url}/v1`, apiKey: 'x' };
      const config = {
        autoupdate: false,
        model: 'fake/fake',
        small_model: 'fake/fake',
        provider: { fake: { npm: '@ai-sdk/anthropic', name: 'fake', options, models } },
        permission: { '*': 'allow' },
      };
      folder.write('../home/.config/opencode/opencode.json', JSON.stringify(config));
      preparePlugins(join(folder.home, '.config', 'opencode'));
      return {
        args: ['run', '--format', 'json', 'go on'],
        env: {
          OPENCODE_DISABLE_AUTOUPDATE: '1',
          OPENCODE_DISABLE_MODELS_FETCH: '1',
          OPENCODE_SERVER_PASSWORD: 'secret',
        },
      };
    },
    async open(place) {
      const port = await freePort();
      const base = `http://127.0.0.1:${port}/session`;
      const headers = {
        'Content-Type': 'application/json',
        Authorization: `Basic ${btoa('opencode:secret')}`,
      };
      const post = (path: string, body: object) =>
        fetch(base + path, { method: 'POST', headers, body: JSON.stringify(body) });
      const serve = async () => {
        const server = place.start(place.program, ['serve', '--port', String(port)]);
        const signal = () => AbortSignal.timeout(20_000);
        await until(() => fetch(base, { headers, signal: signal() }).then((answer) => answer.ok));
        return server;
      };
      const server = await serve();
      const { id } = await (await post('', {})).json();
      return {
        ask: (text) => post(`/${id}/prompt_async`, { parts: [{ type: 'text', text }] }),
        restart: async () => {
          server.kill('SIGKILL');
          await once(server, 'exit');
          await serve();
        },
      };
    },
  },
};

/** Copies the plugin package into the folder of OpenCode. Without it, OpenCode installs the package first, which takes minutes. */
function preparePlugins(folder: string): void {
  const cacheFolder = resolve(import.meta.dirname, '../../node_modules/.cache/clients/opencode-plugin');
  const package_ = `@opencode-ai/plugin@${PACKAGES.opencode[1]}`;
  if (!existsSync(join(cacheFolder, 'package-lock.json'))) {
    mkdirSync(cacheFolder, { recursive: true });
    writeFileSync(join(cacheFolder, 'package.json'), '{}');
    execFileSync('npm', ['install', '--no-audit', '--no-fund', '--save-exact', package_], {
      cwd: cacheFolder,
    });
  }
  cpSync(cacheFolder, folder, { recursive: true });
}

/** JSON-RPC with one message per line, over the pipes of a process. */
class JsonRpc {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (result: never) => void>();

  constructor(child: ChildProcess) {
    this.#child = child;
    createInterface({ input: child.stdout! }).on('line', (line) => {
      if (!line.startsWith('{')) return;
      const { id, result, error } = JSON.parse(line);
      if (error) console.error(line);
      this.#waiting.get(id)?.(result as never);
    });
  }

  call(method: string, params: object): Promise<ReturnType<typeof JSON.parse>> {
    const id = this.#waiting.size + 1;
    return new Promise((done) => {
      this.#waiting.set(id, done);
      this.#write({ id, method, params });
    });
  }

  notify(method: string): void {
    this.#write({ method });
  }

  #write(message: object): void {
    this.#child.stdin!.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }
}

/** Waits until the condition holds, for up to 90 s, because a busy machine is slow. */
async function until(condition: () => unknown, why: () => string = () => ''): Promise<void> {
  for (let tries = 0; tries < 900; tries++) {
    if (await Promise.resolve(condition()).catch(() => false)) return;
    await new Promise((go) => setTimeout(go, 100));
  }
  assert.fail(why() || String(condition));
}

/** A repository with a client, its hooks, its fake model, and a relay that the test can kill. */
class Workplace implements AsyncDisposable {
  readonly folder = new ScratchFolder();
  readonly model: FakeModel;
  readonly name: ClientName;
  readonly program: string;
  readonly #children: ChildProcess[] = [];
  #output = '';
  #relay: ChildProcess | null = null;
  /** While true, the model keeps running commands. Otherwise it answers at once. */
  busy = false;
  /** The next move of the model. */
  next: Move | Promise<Move> | null = null;
  launch!: Launch;
  env: { [name: string]: string } = {};

  private constructor(name: ClientName, program: string) {
    this.name = name;
    this.program = program;
    const { shell } = CLIENTS[name];
    let commands = 0;
    const work = () => {
      // Make each command different, because Gemini CLI stops a model that repeats itself.
      const command = `sleep 1; echo ${++commands}`;
      return { tool: shell, args: { command, cmd: command, description: `work ${commands}` } };
    };
    this.model = new FakeModel(() => {
      const move = this.next;
      this.next = null;
      return move ?? (this.busy ? work() : { text: 'All is well.' });
    }, shell);
  }

  static async open(t: TestContext, name: ClientName): Promise<Workplace | null> {
    const client = installedClient(name);
    if (!('program' in client)) {
      t.skip(client.missing);
      return null;
    }
    const place = new Workplace(name, client.program);
    place.folder.git('init', '-q');
    mkdirSync(join(place.folder.home, '.codex'));
    const installed = await place.folder.relay([
      ...['install', name, '--only', 'hooks'],
      ...(name === 'opencode' ? ['--user'] : []),
    ]);
    assert.equal(installed.code, 0, installed.stderr);
    place.launch = CLIENTS[name].launch(place.folder, await place.model.start());
    place.env = { CONTEXTRELAY_URL: `http://127.0.0.1:${await freePort()}` };
    await place.restartRelay();
    return place;
  }

  async restartRelay(): Promise<void> {
    this.#relay?.kill('SIGKILL');
    const url = this.env.CONTEXTRELAY_URL!;
    this.#relay = this.start(NODE, [ENTRY, 'up', '--port', new URL(url).port]);
    await until(() => fetch(`${url}/health`).then((answer) => answer.ok));
  }

  /** Runs the client with these arguments until it exits. */
  async run(args: readonly string[]): Promise<void> {
    const env = { RELAY_HOME: this.folder.home, RELAY_RUNTIME: 'node', ...this.launch.env, ...this.env };
    const ran = await runClient(this.program, args, { cwd: this.folder.path, home: this.folder.home, env });
    this.#output += ran.stdout + ran.stderr;
  }

  /** Starts a program that runs until the workplace is disposed. */
  start(program: string, args: readonly string[]): ChildProcess {
    const { home, path } = this.folder;
    const env = { ...cleanEnv({ home }), HOME: home, RELAY_RUNTIME: 'node', ...this.launch.env, ...this.env };
    const child = spawn(program, args, { cwd: path, env, stdio: ['pipe', 'pipe', 'pipe'] });
    for (const stream of [child.stdout!, child.stderr!])
      stream.on('data', (chunk) => {
        this.#output += chunk;
      });
    this.#children.push(child);
    return child;
  }

  async json(...args: string[]) {
    const { stdout, stderr } = await this.folder.relay([...args, '--json'], { env: this.env });
    assert.notEqual(stdout, '', stderr);
    return JSON.parse(stdout);
  }

  async get(path: string) {
    return (await fetch(this.env.CONTEXTRELAY_URL + path)).json() as ReturnType<typeof JSON.parse>;
  }

  async agent(): Promise<{ state: string; session: { reach: string } } | undefined> {
    const { agents } = await this.get('/agents');
    return agents.find(({ name }: { name: string }) => name === `${this.name}-work`);
  }

  /** Sends a message over HTTP, like a program on another machine, which cannot wake the session itself. */
  async send(text: string): Promise<string> {
    const answer = await fetch(`${this.env.CONTEXTRELAY_URL}/messages`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ to: `${this.name}-work`, text }),
    });
    const { messages } = (await answer.json()) as { messages: { conversation: string }[] };
    return messages[0]!.conversation;
  }

  async receipt(conversation: string): Promise<{ state: string; route: string }> {
    return (await this.get(`/conversations/${conversation}`)).messages[0];
  }

  /** Output of all programs so far. */
  get printed(): string {
    return this.#output;
  }

  hasSeen(text: string): boolean {
    return this.model.requests.some(({ body }) => body.includes(text));
  }

  /** Waits until a request to the model contains the text. */
  seen(text: string): Promise<void> {
    const why = () => `${this.name} did not get ${text}\n${this.#output.slice(-4_000)}`;
    return until(() => this.hasSeen(text), why);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) child.kill('SIGKILL');
    await this.model[Symbol.asyncDispose]();
    this.folder[Symbol.dispose]();
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as { port: number };
  await new Promise<void>((done) => server.close(() => done()));
  return port;
}

const NAMES = Object.keys(CLIENTS) as ClientName[];
const statesOf = (name: ClientName) => Object.entries(CLIENTS[name].routes) as [State, string][];
for (const [name, [state, expected]] of NAMES.flatMap((each) =>
  statesOf(each).map((one) => [each, one] as const),
)) {
  test(`${name}: a message reaches a session that is ${state}, through a kill -9 of the relay`, async (t) => {
    await using place = await Workplace.open(t, name);
    if (place === null) return;
    const { reach, open, again } = CLIENTS[name];
    const { args } = place.launch;
    const text = `MESSAGE-TO-${state}`;
    let session: OpenSession | null = null;
    if (state === 'closed') await place.run(args);
    else {
      if (reach === 'turn') place.env.RELAY_CONTINUE = '1';
      session = await open(place);
      session.ask('HELLO');
      await place.seen('HELLO');
      await until(async () => (await place.agent())?.state === 'idle');
      const [listed] = (await place.json('agents')).agents;
      assert.equal(listed.session.reach, reach, 'relay agents says whether it can be woken');
    }
    place.busy = state === 'busy';
    if (place.busy) {
      session?.ask('WORK-HARD');
      await place.seen('WORK-HARD');
    }
    if (state === 'restarted') await session?.restart?.();
    const conversation = await place.send(text);
    await place.restartRelay();
    place.start(NODE, [ENTRY, 'agents', '--watch']);
    if (state === 'closed') {
      // Codex runs its queue only when the thread is resumed. So wait until the message is in the queue.
      const isPassedOn = async () => (await place.receipt(conversation)).route === expected;
      if (again) await until(isPassedOn);
      await place.run(again?.(args) ?? args);
    } else if (reach === 'turn') {
      await new Promise((go) => setTimeout(go, 5_000));
      assert.ok(!place.hasSeen(text), 'it waits');
      place.busy = false;
      if (state === 'idle') session?.ask('GO-ON');
    } else if (state === 'busy' && name === 'codex') {
      await until(async () => (await place.agent())?.session !== undefined);
      place.busy = false;
    }
    await place.seen(text);
    place.busy = false;
    const isShown = async () => (await place.receipt(conversation)).state === 'shown';
    await until(isShown);
    assert.equal((await place.receipt(conversation)).route, expected);
  });
}

for (const name of NAMES)
  test(`${name}: an edit of a file that another agent claimed is announced`, async (t) => {
    await using place = await Workplace.open(t, name);
    if (place === null) return;
    await place.folder.relay(['claim', '*.txt'], { env: { ...place.env, RELAY_AGENT: 'coder' } });
    const warning = 'relay: coder holds *.txt for 15 more minutes';
    const isWarned = () => (name === 'gemini' ? place.printed.includes(warning) : place.hasSeen(warning));
    // Repeat the edit until the hook warns. A slow hook lets the edit pass without a warning, and warns at the next
    // edit.
    for (let tries = 0; tries < 5 && !isWarned(); tries++) {
      place.next = CLIENTS[name].edit(place.folder);
      await place.run(place.launch.args);
      assert.equal(place.folder.read('a.txt').trim(), 'text', 'the file is edited anyway');
    }
    assert.ok(isWarned(), place.printed);
  });

test('claude: without its socket, a session at a terminal is woken by the hook in the background', async (t) => {
  await using place = await Workplace.open(t, 'claude');
  if (place === null) return;
  const { home, path } = place.folder;
  const key = 'sk-test-0123456789-0123456789';
  writeFileSync(
    join(home, '.claude.json'),
    JSON.stringify({
      hasCompletedOnboarding: true,
      customApiKeyResponses: { approved: [key.slice(-20)] },
      projects: { [path]: { hasTrustDialogAccepted: true } },
    }),
  );
  place.env.ANTHROPIC_API_KEY = key;
  place.env.TERM = 'xterm-256color';
  // Hold the first turn until the socket is deleted. Then the Stop hook finds no socket and waits for messages itself.
  const turn = Promise.withResolvers<Move>();
  place.next = turn.promise;
  place.start('script', ['-qec', `stty cols 100 rows 40; ${place.program} HELLO`, '/dev/null']);
  await place.seen('HELLO');
  const files = readdirSync(join(home, '.claude', 'sessions'));
  const sessions = files.map((file) => place.folder.json(join('../home/.claude/sessions', file)));
  rmSync(sessions.find(({ sessionId }) => sessionId !== undefined).messagingSocketPath);
  turn.resolve({ text: 'All is well.' });
  await until(async () => (await place.agent())?.session.reach === 'now');
  const conversation = await place.send('MESSAGE-WITHOUT-A-SOCKET');
  place.start(NODE, [ENTRY, 'agents', '--watch']);
  await place.seen('MESSAGE-WITHOUT-A-SOCKET');
  await until(async () => (await place.receipt(conversation)).state === 'shown');
  assert.equal((await place.receipt(conversation)).route, 'claude-rewake');
  await until(async () => (await place.agent())?.state === 'idle');
});
