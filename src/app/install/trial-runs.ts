import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts';
import type { Environment } from '../config.ts';
import { loadConfig } from '../config.ts';
import { openProject } from '../projects/open-project.ts';

/** A hook as it stands in a client's settings. */
export interface InstalledHook {
  readonly event: string;
  readonly command: string;
}

export interface Fired {
  readonly event: string;
  /** Null where its effect was seen. */
  readonly fault: string | null;
}

/** As long as a client waits for a hook, and long enough for a cold start of a server on a busy machine. */
const ANSWER_MS = 10_000;

/**
 * Runs hooks just as a client would, by the very lines in its settings, in a project made for the purpose, and looks for
 * what each of them is there for: the brief, the message from the inbox, the checkpoint, the reminder.
 */
export async function fireHooks(hooks: readonly InstalledHook[], env: Environment): Promise<Fired[]> {
  const root = mkdtempSync(join(tmpdir(), 'relay-doctor-'));
  try {
    const stage = await setStage(root, env);
    const fired: Fired[] = [];
    for (const { event, command } of hooks) {
      const ran = await runLine(command, stage);
      fired.push({ event, fault: ran.fault ?? lookFor(command, ran.stdout, stage) });
    }
    return fired;
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
  const [folder, home, mark] = [
    join(root, 'project'),
    join(root, 'home'),
    `doctor-${process.pid}-${Date.now().toString(36)}`,
  ];
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
  await runLine('git init -q .', stage);
  writeFileSync(join(folder, 'work.txt'), '');
  const { openRelay } = await import('../store/open-relay.ts');
  await using open = await openRelay(loadConfig({}, { home }));
  await open.client.inbox.follow('doctor', 'doctor');
  await open.client.publish('doctor', mark);
  return stage;
}

function lookFor(command: string, stdout: string, stage: Stage): string | null {
  const event = command.trim().split(/\s+/).at(-1);
  switch (event) {
    case 'session-start':
      return stdout.includes(stage.mark) ? null : 'it ran, but the brief is not in its answer';
    case 'prompt-submit':
      return stdout.includes(stage.mark) ? null : 'it ran, but did not tell of a message in the inbox';
    case 'pre-compact':
      return /"checkpoint"/.test(readFileSync(join(stage.folder, 'state.json'), 'utf8'))
        ? null
        : 'it ran, but saved nothing';
    default:
      return stdout.includes('relay project sync') || !hasGit(stage)
        ? null
        : 'it ran, but did not remind of the sync';
  }
}

function hasGit(stage: Stage): boolean {
  try {
    return readFileSync(join(stage.folder, '.git', 'HEAD')).length > 0;
  } catch {
    return false;
  }
}

function runLine(line: string, stage: Stage): Promise<{ stdout: string; fault: string | null }> {
  const input = {
    cwd: stage.folder,
    session_id: stage.mark,
    source: 'startup',
    trigger: 'manual',
    prompt: 'doctor',
  };
  return new Promise((resolve) => {
    const child = spawn(line, {
      cwd: stage.folder,
      env: stage.env,
      shell: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const timer = setTimeout(() => child.kill('SIGKILL'), ANSWER_MS);
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.stdin.on('error', () => {});
    child.stdin.end(JSON.stringify(input));
    child.once('error', (error) => resolve({ stdout, fault: error.message }));
    child.once('close', (code) => {
      clearTimeout(timer);
      const words = stderr.trim().split('\n')[0];
      if (code === null) resolve({ stdout, fault: `it did not end within ${ANSWER_MS / 1000} s` });
      else
        resolve({ stdout, fault: code === 0 ? null : `it ended with ${code}${words ? `: ${words}` : ''}` });
    });
  });
}

/** Starts an MCP server over stdio as a client would, and asks for its tools. Throws a sentence where that fails. */
export async function listTools(
  server: { readonly command: string; readonly args: readonly string[] },
  env: Environment,
): Promise<string[]> {
  const child = spawn(server.command, [...server.args], { env: { ...env }, stdio: ['pipe', 'pipe', 'pipe'] });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  child.stdin.on('error', () => {});
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => {
      const words = stderr
        .trim()
        .split('\n')[0]
        ?.replace(/^error /, '');
      if (child.killed) resolve(`it did not answer within ${ANSWER_MS / 1000} s`);
      else resolve(`it ended with ${code ?? signal}${words ? `: ${words}` : ''}`);
    });
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), ANSWER_MS);
  const send = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  try {
    const clientInfo = { name: 'relay doctor', version: '1' };
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
    send({ id: 1, method: 'initialize', params });
    for await (const line of createInterface({ input: child.stdout })) {
      const message = line.trim() === '' ? {} : readAnswer(line);
      if (message.id === 2) return toolNames(message.result);
      if (message.id !== 1) continue;
      send({ method: 'notifications/initialized' });
      send({ id: 2, method: 'tools/list', params: {} });
    }
    throw new Error(await ended);
  } finally {
    clearTimeout(timer);
    child.stdin.end();
    child.kill();
  }
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

function toolNames(result: Json | undefined): string[] {
  const tools = isJsonObject(result) ? result.tools : undefined;
  if (!Array.isArray(tools)) throw new Error('it did not list its tools');
  return tools.map((tool) => (isJsonObject(tool) ? String(tool.name) : ''));
}
