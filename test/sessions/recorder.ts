import { spawn } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { loadSqlite } from '../../src/engines/node-sqlite.ts';
import { FakeModel, type Move } from '../clients/fake-model.ts';
import { type ClientName, runClient } from '../clients/installed-clients.ts';
import type { ScratchFolder } from '../projects/scratch-folder.ts';

/** A step of the agent: an optional text, then one tool call. */
export type Step = { readonly say?: string } & (
  | { readonly run: string }
  | { readonly write: string; readonly text: string }
  | { readonly edit: string; readonly old: string; readonly new: string }
  | { readonly read: string }
  | { readonly todos: readonly { readonly text: string; readonly status: string }[] }
);

/** A prompt of the user, the steps of the agent, and its final answer. */
export interface Exchange {
  /** If set, the client compacts the session before this prompt, and the model writes this summary. */
  readonly compaction?: string;
  readonly prompt: string;
  readonly steps: readonly Step[];
  readonly answer: string;
}

/** A prompt to a model that chooses its next step from the results of its tools in this exchange. */
export interface LiveExchange {
  readonly prompt: string;
  act(answers: readonly string[]): Step | { readonly answer: string };
}

/** A tool call of a client. */
type Call = { readonly tool: string; readonly args: object };

/** Returns a shell command that changes files in Codex, which intercepts `apply_patch` and runs its patch tool. */
function patch(lines: readonly string[]): Call {
  const text = ['*** Begin Patch', ...lines, '*** End Patch'].join('\n');
  return { tool: 'exec_command', args: { cmd: `apply_patch <<'END_OF_PATCH'\n${text}\nEND_OF_PATCH` } };
}

const prefixed = (sign: string, text: string) =>
  text
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => sign + line);

/** Returns each client's tool call for a step. */
const TOOLS: { readonly [client in ClientName]: (step: Step, folder: string) => Call } = {
  claude(step, folder) {
    if ('run' in step) return { tool: 'Bash', args: { command: step.run, description: 'work' } };
    if ('write' in step)
      return { tool: 'Write', args: { file_path: join(folder, step.write), content: step.text } };
    if ('edit' in step) {
      const args = { file_path: join(folder, step.edit), old_string: step.old, new_string: step.new };
      return { tool: 'Edit', args };
    }
    if ('read' in step) return { tool: 'Read', args: { file_path: join(folder, step.read) } };
    const todos = step.todos.map(({ text, status }) => ({ content: text, status, activeForm: text }));
    return { tool: 'TodoWrite', args: { todos } };
  },
  codex(step, folder) {
    if ('run' in step) return { tool: 'exec_command', args: { cmd: step.run } };
    if ('write' in step) return patch([`*** Add File: ${step.write}`, ...prefixed('+', step.text)]);
    if ('edit' in step) {
      // Extend the edit to whole lines, because a patch replaces whole lines.
      const text = readFileSync(join(folder, step.edit), 'utf8');
      const at = text.indexOf(step.old);
      const from = text.lastIndexOf('\n', at) + 1;
      const end = text.indexOf('\n', at + step.old.replace(/\n$/, '').length);
      const old = text.slice(from, end);
      const lines = [
        ...prefixed('-', old),
        ...prefixed(
          '+',
          old.replace(step.old.replace(/\n$/, ''), () => step.new),
        ),
      ];
      return patch([`*** Update File: ${step.edit}`, '@@', ...lines]);
    }
    if ('read' in step) return { tool: 'exec_command', args: { cmd: `cat ${step.read}` } };
    return {
      tool: 'update_plan',
      args: { plan: step.todos.map(({ text, status }) => ({ step: text, status })) },
    };
  },
  gemini(step, folder) {
    if ('run' in step) return { tool: 'run_shell_command', args: { command: step.run, description: 'work' } };
    if ('write' in step)
      return { tool: 'write_file', args: { file_path: join(folder, step.write), content: step.text } };
    if ('edit' in step) {
      const args = { file_path: join(folder, step.edit), old_string: step.old, new_string: step.new };
      return { tool: 'replace', args: { ...args, instruction: 'change it' } };
    }
    if ('read' in step) return { tool: 'read_file', args: { file_path: join(folder, step.read) } };
    const todos = step.todos.map(({ text, status }) => ({ description: text, status }));
    return { tool: 'write_todos', args: { todos } };
  },
  opencode(step, folder) {
    if ('run' in step) return { tool: 'bash', args: { command: step.run, description: 'work' } };
    if ('write' in step)
      return { tool: 'write', args: { filePath: join(folder, step.write), content: step.text } };
    if ('edit' in step) {
      const args = { filePath: join(folder, step.edit), oldString: step.old, newString: step.new };
      return { tool: 'edit', args };
    }
    if ('read' in step) return { tool: 'read', args: { filePath: join(folder, step.read) } };
    const todos = step.todos.map(({ text, status }) => ({ content: text, status, priority: 'medium' }));
    return { tool: 'todowrite', args: { todos } };
  },
};

/** By client, a tool that is offered in every request of a session, but not in requests for a title. */
const MARKERS = { claude: 'Bash', codex: 'exec_command', gemini: 'run_shell_command', opencode: 'bash' };

/** Runs a session in a real client whose fake model follows the exchanges. Returns all requests to the model. */
export async function playSession(
  client: ClientName,
  program: string,
  folder: ScratchFolder,
  exchanges: readonly (Exchange | LiveExchange)[],
): Promise<readonly string[]> {
  let at = 0;
  let before: number | undefined;
  let summary: string | undefined;
  const script = (answers: readonly string[]): Move => {
    if (summary !== undefined) return { text: summary };
    const exchange = exchanges[at]!;
    before ??= answers.length;
    const newAnswers = answers.slice(before);
    const step =
      'act' in exchange
        ? exchange.act(newAnswers)
        : (exchange.steps[newAnswers.length] ?? { answer: exchange.answer });
    if ('answer' in step) return { text: step.answer };
    return { ...TOOLS[client](step, folder.path), say: step.say };
  };
  await using model = new FakeModel(script, MARKERS[client]);
  const url = await model.start();
  await CLIENTS[client](program, folder, url, async (send) => {
    for (const exchange of exchanges) {
      summary = 'compaction' in exchange ? exchange.compaction : undefined;
      if (summary !== undefined) {
        model.reply = summary;
        await send('/compact');
      }
      summary = undefined;
      before = undefined;
      await send(exchange.prompt);
      at++;
    }
  });
  return model.requests.map(({ body }) => body);
}

type Play = (send: (prompt: string) => Promise<void>) => Promise<void>;
type Start = (program: string, folder: ScratchFolder, url: string, play: Play) => Promise<void>;

export const CLIENT_ENV: {
  readonly [client in ClientName]: (folder: ScratchFolder, url: string) => { [name: string]: string };
} = {
  claude: (_folder, url) => ({
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: 'sk-test',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
  }),
  codex: (folder) => ({ OPENAI_API_KEY: 'x', CODEX_HOME: join(folder.home, '.codex') }),
  gemini(folder, url) {
    const auth = {
      security: { auth: { selectedType: 'gemini-api-key' } },
      general: { sessionRetention: { enabled: false } },
    };
    folder.write('../home/.gemini/settings.json', JSON.stringify(auth));
    folder.write('../home/.gemini/trustedFolders.json', JSON.stringify({ [folder.path]: 'TRUST_FOLDER' }));
    return { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: 'x' };
  },
  opencode(folder, url) {
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
    return { OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1' };
  },
};

/** Settings for Codex that name the fake model. */
export function codexSettings(url: string): string[] {
  const provider = `model_providers.fake={name="fake",base_url="${url}/v1",env_key="OPENAI_API_KEY",wire_api="responses"}`;
  return ['model_provider="fake"', provider, 'model="gpt-5.5"'].flatMap((setting) => ['-c', setting]);
}

const CLIENTS: { readonly [client in ClientName]: Start } = {
  async claude(program, folder, url, play) {
    const env = CLIENT_ENV.claude(folder, url);
    let id = '';
    await play(async (prompt) => {
      const tools = ['--allowedTools', 'Bash,Write,Edit,Read,TodoWrite'];
      const args = ['-p', prompt, ...(id ? ['--resume', id] : []), '--output-format', 'json', ...tools];
      const ran = await runClient(program, args, { cwd: folder.path, home: folder.home, env });
      if (ran.code !== 0) throw new Error(`${ran.stdout}\n${ran.stderr}`);
      id = JSON.parse(ran.stdout).session_id;
    });
  },
  async codex(program, folder, url, play) {
    const env = CLIENT_ENV.codex(folder, url);
    folder.write('../home/.codex/config.toml', `[projects."${folder.path}"]\ntrust_level = "trusted"\n`);
    let id = '';
    await play(async (prompt) => {
      const flags = ['--json', '--dangerously-bypass-approvals-and-sandbox', ...codexSettings(url)];
      const args = id ? ['exec', 'resume', ...flags, id, prompt] : ['exec', ...flags, prompt];
      const ran = await runClient(program, args, { cwd: folder.path, home: folder.home, env });
      if (ran.code !== 0) throw new Error(`${ran.stdout}\n${ran.stderr}`);
      id ||= /"thread_id":"([^"]+)"/.exec(ran.stdout)![1]!;
    });
  },
  gemini: (program, folder, url, play) =>
    overAcp(
      program,
      ['--acp', '--approval-mode', 'yolo', '-m', 'gemini-2.5-pro'],
      folder,
      CLIENT_ENV.gemini(folder, url),
      play,
    ),
  opencode: (program, folder, url, play) =>
    overAcp(program, ['acp'], folder, CLIENT_ENV.opencode(folder, url), play),
};

/** Plays a session over the Agent Client Protocol, for clients that cannot continue a session without a terminal. */
async function overAcp(
  program: string,
  args: readonly string[],
  folder: ScratchFolder,
  env: { [name: string]: string },
  play: Play,
): Promise<void> {
  const childEnv = { PATH: process.env.PATH, HOME: folder.home, TERM: 'xterm-256color', ...env };
  const child = spawn(program, args, { cwd: folder.path, env: childEnv, stdio: ['pipe', 'pipe', 'pipe'] });
  const waiting = new Map<number, (message: { result?: { sessionId?: string }; error?: unknown }) => void>();
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const exited = new Promise<never>((_, failed) =>
    child.once('close', (code) =>
      failed(new Error(`${program} ended with ${code}: ${errors.slice(-2_000)}`)),
    ),
  );
  exited.catch(() => {});
  const write = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (!line.startsWith('{')) return;
    const message = JSON.parse(line);
    if (message.method === 'session/request_permission') {
      const option = message.params.options.find(({ kind }: { kind: string }) => kind === 'allow_once');
      write({ id: message.id, result: { outcome: { outcome: 'selected', optionId: option.optionId } } });
    } else if (message.method === undefined) waiting.get(message.id)?.(message);
  });
  let id = 0;
  const ask = async (method: string, params: object) => {
    const answered = new Promise<{ result?: { sessionId?: string }; error?: unknown }>((done) => {
      waiting.set(++id, done);
      write({ id, method, params });
    });
    const { result, error } = await Promise.race([answered, exited]);
    if (error) throw new Error(`${method}: ${JSON.stringify(error)}`);
    return result!;
  };
  try {
    await ask('initialize', { protocolVersion: 1, clientCapabilities: {} });
    const { sessionId } = await ask('session/new', { cwd: folder.path, mcpServers: [] });
    await play(async (text) => {
      await ask('session/prompt', { sessionId, prompt: [{ type: 'text', text }] });
    });
  } finally {
    child.stdin.end();
    child.kill();
  }
}

/** Files of a recorded session by their path in the home. A database is stored as JSON with its rows. */
export type Recording = { readonly [path: string]: string };

const WHERE = {
  claude: '.claude/projects/*/*.jsonl',
  codex: '.codex/sessions/*/*/*/*.jsonl',
  gemini: '.gemini/tmp/*/chats/*.jsonl',
};

/** Returns the transcript that a client has written, without large lines that the session readers do not use. */
export function recordingOf(client: ClientName, folder: ScratchFolder): Recording {
  const files: { [path: string]: string } = {};
  if (client === 'opencode') {
    const { DatabaseSync } = loadSqlite();
    const path = '.local/share/opencode/opencode.db';
    using db = new DatabaseSync(join(folder.home, path), { readOnly: true });
    const tables = ['project', 'session', 'message', 'part', 'todo'];
    const rows = tables.map((table) => {
      const { sql } = db.prepare('select sql from sqlite_master where name = ?').get(table) as {
        sql: string;
      };
      return { table, sql, rows: db.prepare(`select * from ${table}`).all().map(withoutDiffs) };
    });
    files[path] = JSON.stringify(rows, null, 1);
    return files;
  }
  for (const path of globSync(WHERE[client], { cwd: folder.home })) {
    const lines = readFileSync(join(folder.home, path), 'utf8').split('\n');
    files[path] = lines
      .filter((line) => !isSkipped(line))
      .map(withoutInstructions)
      .join('\n');
  }
  const projects = join(folder.home, '.gemini/projects.json');
  if (existsSync(projects)) files['.gemini/projects.json'] = readFileSync(projects, 'utf8');
  return files;
}

/**
 * Returns whether to skip a line in the recording. Vendor prompts and internal records are skipped, because the
 * session readers do not use them.
 */
function isSkipped(line: string): boolean {
  if (line.includes('"type":"attachment"')) return !line.includes('"type":"queued_command"');
  return /"type":"(?:api-request[^"]*|prompt_snapshot|world_state)"|"role":"developer"/.test(line);
}

/** Removes the copies of changed files that OpenCode stores with each prompt. */
function withoutDiffs(row: { [column: string]: unknown }): object {
  if (typeof row.data !== 'string') return row;
  return {
    ...row,
    data: JSON.stringify(JSON.parse(row.data, (key, value) => (key === 'diffs' ? [] : value))),
  };
}

/** Removes the system prompt from the first line of Codex. */
function withoutInstructions(line: string): string {
  if (!line.includes('"base_instructions"')) return line;
  return JSON.stringify(JSON.parse(line, (key, value) => (key === 'base_instructions' ? undefined : value)));
}
