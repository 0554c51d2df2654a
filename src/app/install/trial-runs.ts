import { type SpawnSyncOptions, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isJsonObject, type JsonObject } from '../../base/json.ts';
import { type Environment, loadConfig } from '../config.ts';
import { openProject } from '../projects/open-project.ts';
import type { OurHandler } from './entries.ts';

/** As long as a client waits for a hook, and long enough for a cold start of a server on a busy machine. */
const ANSWER_MS = 10_000;

/**
 * Runs hooks just as a client would, by the very lines in its settings, in a project made for the purpose, and looks for
 * what each of them is there for: the brief, the message from the inbox, the checkpoint, the reminder. `fault` is null
 * where that was seen.
 */
export async function fireHooks(
  hooks: readonly OurHandler[],
  env: Environment,
): Promise<{ readonly event: string; readonly fault: string | null }[]> {
  const root = mkdtempSync(join(tmpdir(), 'relay-doctor-'));
  try {
    const stage = await setStage(root, env);
    return hooks.map(({ event, handler: { command } }) => {
      const { stdout, fault } = runLine(command, stage);
      return { event, fault: fault ?? lookFor(command, stdout, stage) };
    });
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

interface Stage {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly mark: string;
}

async function setStage(root: string, env: Environment): Promise<Stage> {
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
  const stage = { folder, mark, env: { ...rest, RELAY_HOME: home, RELAY_AGENT: 'doctor' } };
  // Something that is not yet written down, as far as git is there to see it.
  runLine('git init -q .', stage);
  writeFileSync(join(folder, 'work.txt'), '');
  const { openRelay } = await import('../store/open-relay.ts');
  await using open = await openRelay(loadConfig({}, { home }));
  await open.client.inbox.follow('doctor', 'doctor');
  await open.client.publish('doctor', mark);
  return stage;
}

function lookFor(command: string, stdout: string, { folder, mark }: Stage): string | null {
  switch (command.trim().split(/\s+/).at(-1)) {
    case 'session-start':
      return stdout.includes(mark) ? null : 'it ran, but the brief is not in its answer';
    case 'prompt-submit':
      return stdout.includes(mark) ? null : 'it ran, but did not tell of a message in the inbox';
    case 'pre-compact': {
      const state = readFileSync(join(folder, 'state.json'), 'utf8');
      return state.includes('"checkpoint"') ? null : 'it ran, but saved nothing';
    }
    default: {
      const reminded = stdout.includes('relay project sync') || !existsSync(join(folder, '.git', 'HEAD'));
      return reminded ? null : 'it ran, but did not remind of the sync';
    }
  }
}

function runLine(line: string, { folder: cwd, env, mark }: Stage): Ran {
  const input = { cwd, session_id: mark, source: 'startup', trigger: 'manual', prompt: 'doctor' };
  return run(line, [], { cwd, env, shell: true, input: JSON.stringify(input) }, 'end');
}

/** Starts an MCP server over stdio as a client would, and asks for its tools. Throws a sentence where that fails. */
export function listTools(command: string, args: readonly string[], env: Environment): string[] {
  const clientInfo = { name: 'relay doctor', version: '1' };
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
  const asked = [
    { id: 1, method: 'initialize', params },
    { method: 'notifications/initialized' },
    { id: 2, method: 'tools/list', params: {} },
  ];
  const input = asked.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join('');
  const { stdout, fault } = run(command, args, { env: { ...env }, input }, 'answer');
  const answers = stdout.split('\n').filter((line) => line.trim() !== '');
  const listed = answers.map(readAnswer).find(({ id }) => id === 2);
  if (!listed) throw new Error(fault?.replace(': error ', ': ') ?? 'it ended with 0');
  const tools = isJsonObject(listed.result) ? listed.result.tools : undefined;
  if (!Array.isArray(tools)) throw new Error('it did not list its tools');
  return tools.map((tool) => (isJsonObject(tool) ? String(tool.name) : ''));
}

function readAnswer(line: string): JsonObject {
  let message: unknown;
  try {
    message = JSON.parse(line);
  } catch {
    throw new Error('it wrote something that is not JSON to stdout');
  }
  if (!isJsonObject(message)) return {};
  if (isJsonObject(message.error))
    throw new Error(String(message.error.message ?? 'it answered with an error'));
  return message;
}

interface Ran {
  readonly stdout: string;
  /** Why it did not end well, in words. */
  readonly fault: string | null;
}

function run(command: string, args: readonly string[], o: SpawnSyncOptions, awaited: 'end' | 'answer'): Ran {
  const limits = { timeout: ANSWER_MS, killSignal: 'SIGKILL', encoding: 'utf8' } as const;
  const { error, status, signal, stdout, stderr } = spawnSync(command, args, { ...o, ...limits });
  if (error && (error as NodeJS.ErrnoException).code === 'ETIMEDOUT')
    return { stdout, fault: `it did not ${awaited} within ${ANSWER_MS / 1000} s` };
  if (error) return { stdout: '', fault: error.message.replace('spawnSync', 'spawn') };
  const words = stderr.trim().split('\n')[0];
  const fault = status === 0 ? null : `it ended with ${status ?? signal}${words ? `: ${words}` : ''}`;
  return { stdout, fault };
}
