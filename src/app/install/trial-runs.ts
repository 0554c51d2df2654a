import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { EXIT_REWAKE } from '../../base/errors.ts';
import { isJsonObject, type JsonObject } from '../../base/json.ts';
import type { HookClient } from '../../interfaces/cli/commands/hook.ts';
import { signalGroup } from '../../runners/processes.ts';
import { type Environment, loadConfig } from '../config.ts';
import type { Deadline } from '../deadline.ts';
import { ownCommand } from '../own-package.ts';
import { openProject } from '../projects/project-files.ts';
import { runGit } from '../projects/run-git.ts';

/**
 * Runs hooks of this program in a temporary project and looks for their effects: brief, inbox message, warning of a
 * claim, checkpoint, reminder. Returns a fault, or null, for each event. Never runs commands from the settings of a
 * client, because anyone may have written them.
 */
export async function fireHooks(
  events: readonly string[],
  client: HookClient,
  env: Environment,
  deadline: Deadline,
): Promise<Map<string, string | null>> {
  const root = mkdtempSync(join(tmpdir(), 'relay-doctor-'));
  try {
    const stage = await deadline.race<TestProject | null>(createTestProject(root, env, deadline), () => null);
    const unset = `not run: relay could not create a test project within ${deadline.seconds} s`;
    const fired = events.map(async (event): Promise<[string, string | null]> => {
      if (stage === null) return [event, unset];
      let fault: string | null = null;
      for (let tries = TRIES; tries > 0 && !deadline.signal.aborted; tries--) {
        const ran = await fire(client, event, stage);
        fault = ran.fault ?? checkEffect(event, ran.stdout, stage);
        if (fault === null || ran.fault !== null) break;
      }
      return [event, fault];
    });
    return new Map(await Promise.all(fired));
  } finally {
    rmSync(root, { recursive: true, force: true, maxRetries: 3 });
  }
}

/**
 * An agent with a waiting message, and a file that another agent has claimed. Both exist only in the
 * temporary project.
 */
const WAITING_AGENT = 'doctor-waits';
const EDITED = 'work.txt';

/**
 * Maximum number of attempts per hook. A slow hook gives up, so that it does not delay its agent. Hooks are slow
 * here because all checks run at the same time, so a hook that gave up is run again.
 */
const TRIES = 3;

type TestProject = Awaited<ReturnType<typeof createTestProject>>;

async function createTestProject(root: string, env: Environment, deadline: Deadline) {
  const [folder, home] = [join(root, 'project'), join(root, 'home')];
  const mark = `doctor-${process.pid}-${Date.now().toString(36)}`;
  mkdirSync(folder);
  mkdirSync(home, { mode: 0o700 });
  const project = openProject(folder);
  await project.init();
  await project.sync({ task: mark });
  const old = new Date(Date.now() - 5 * 3_600_000).toISOString();
  const state = join(folder, 'state.json');
  writeFileSync(state, readFileSync(state, 'utf8').replace(/"last_update": ".*"/, `"last_update": "${old}"`));
  const { CONTEXTRELAY_URL: _, ...rest } = env;
  const own = { RELAY_HOME: home, RELAY_AGENT: 'doctor', CLAUDE_CODE_ENTRYPOINT: 'cli' };
  const stage = { folder, mark, deadline, env: { ...rest, ...own } };
  // Create a git repository, in which the new file below is a change since the last sync. Without git there
  // is no such change, and `checkEffect` expects no reminder.
  await runGit(folder, ['init', '-q']).catch(() => {});
  writeFileSync(join(folder, EDITED), '');
  const { openRelay } = await import('../store/open-relay.ts');
  await using open = await openRelay(loadConfig({}, { home }), { agent: mark });
  await (await open.client()).inbox.follow('doctor', 'doctor');
  await (await open.client()).publish('doctor', mark);
  await open.relay.agents.send(WAITING_AGENT, mark, { queue: true });
  await open.relay.agents.claim(basename(folder), EDITED);
  return stage;
}

function checkEffect(event: string, stdout: string, { folder, mark }: TestProject): string | null {
  switch (event) {
    case 'session-start':
      return stdout.includes(mark) ? null : 'it ran, but its output has no brief';
    case 'prompt-submit':
      return stdout.includes(mark) ? null : 'it ran, but did not report the message in the inbox';
    case 'pre-edit':
      return stdout.includes(mark) ? null : 'it ran, but did not warn of the claim';
    case 'wait':
      return stdout.includes(mark) ? null : 'it ran, but did not report the message';
    case 'pre-compact': {
      const state = readFileSync(join(folder, 'state.json'), 'utf8');
      return state.includes('"checkpoint"') ? null : 'it ran, but saved nothing';
    }
    default: {
      const reminded = stdout.includes('project sync') || !existsSync(join(folder, '.git', 'HEAD'));
      return reminded ? null : 'it ran, but did not remind the agent to sync';
    }
  }
}

function fire(
  client: string,
  event: string,
  { folder: cwd, env, mark, deadline }: TestProject,
): Promise<RunResult> {
  const input = {
    cwd,
    session_id: event === 'wait' ? WAITING_AGENT : mark,
    source: 'startup',
    trigger: 'manual',
    prompt: 'doctor',
    tool_input: { file_path: EDITED },
  };
  const argv = [...ownCommand(), 'hook', client, event];
  // Other hooks take the messages of their agent, so the message for `wait` goes to an agent of its own.
  const own = event === 'wait' ? { ...env, RELAY_AGENT: WAITING_AGENT } : env;
  return run({ argv, cwd, env: own, input: JSON.stringify(input) }, deadline);
}

/**
 * Starts this program as an MCP server over stdio, as a client would, and returns the names of its tools. Throws an
 * error that says what failed.
 */
export async function listTools(cwd: string, env: Environment, deadline: Deadline): Promise<string[]> {
  const clientInfo = { name: 'relay doctor', version: '1' };
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
  const requests = [
    { id: 1, method: 'initialize', params },
    { method: 'notifications/initialized' },
    { id: 2, method: 'tools/list', params: {} },
  ];
  const input = requests.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join('');
  // Keep the server's input open, as a client does, and wait for the answer instead of the end of the server.
  const answered = (stdout: string) => /"id":\s*2\b[^\n]*\n/.test(stdout);
  const argv = [...ownCommand(), 'mcp'];
  const { stdout, fault } = await run({ argv, cwd, env, input, answered }, deadline);
  const answers = stdout.split('\n').filter((line) => line.trim() !== '');
  const listed = answers.map(readAnswer).find(({ id }) => id === 2);
  if (!listed)
    throw new Error(fault?.replace(': error ', ': ') ?? 'it ended with exit code 0 before it answered');
  const tools = isJsonObject(listed.result) ? listed.result.tools : undefined;
  if (!Array.isArray(tools)) throw new Error('it did not list its tools');
  return tools.map((tool) => (isJsonObject(tool) ? String(tool.name) : ''));
}

function readAnswer(line: string): JsonObject {
  let message: unknown;
  try {
    message = JSON.parse(line);
  } catch {
    throw new Error('it wrote text that is not JSON to stdout');
  }
  if (!isJsonObject(message)) return {};
  if (isJsonObject(message.error))
    throw new Error(String(message.error.message ?? 'it answered with an error'));
  return message;
}

interface RunResult {
  readonly stdout: string;
  /** Description of the failure, or null if the program succeeded. */
  readonly fault: string | null;
}

interface Start {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Environment;
  readonly input: string;
  /**
   * Returns whether the expected output has arrived. Until then the program's input stays open; afterwards
   * the program is killed.
   */
  readonly answered?: (stdout: string) => boolean;
}

/** Runs a program. At the deadline the program and all its child processes are killed. */
function run({ argv, input, answered, ...o }: Start, deadline: Deadline): Promise<RunResult> {
  const [command, ...args] = argv;
  const grouped = process.platform !== 'win32';
  const child = spawn(command!, args, { ...o, env: { ...o.env }, detached: grouped, windowsHide: true });
  const { promise, resolve } = Promise.withResolvers<RunResult>();
  let [stdout, stderr] = ['', ''];
  const timeUp = () => {
    signalGroup(child, 'SIGKILL');
    resolve({ stdout, fault: `it did not ${answered ? 'answer' : 'end'} within ${deadline.seconds} s` });
  };
  if (deadline.signal.aborted) timeUp();
  deadline.signal.addEventListener('abort', timeUp, { once: true });
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    if (!answered?.(stdout)) return;
    resolve({ stdout, fault: null });
    signalGroup(child, 'SIGKILL');
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    if (stderr.length < STDERR_CHARS) stderr += text;
  });
  // Ignore the error of writing to a program that has already ended.
  child.stdin.on('error', () => {});
  if (answered) child.stdin.write(input);
  else child.stdin.end(input);
  child.once('error', (error) => resolve({ stdout: '', fault: error.message }));
  child.once('close', (status, signal) => {
    const firstLine = stderr.trim().split('\n')[0];
    const fault =
      status === 0 || status === EXIT_REWAKE
        ? null
        : `it ended with ${status ?? signal}${firstLine ? `: ${firstLine}` : ''}`;
    resolve({ stdout, fault });
  });
  return promise.finally(() => deadline.signal.removeEventListener('abort', timeUp));
}

/** Maximum number of characters of stderr that are kept. Only the first line is reported. */
const STDERR_CHARS = 10_000;
