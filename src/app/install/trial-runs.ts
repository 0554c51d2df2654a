import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { isJsonObject, type JsonObject } from '../../base/json.ts';
import { HOOK_EVENTS, type HookClient } from '../../interfaces/cli/coding-agents/hook.ts';
import { findProgram } from '../../runners/cli/profiles.ts';
import { type Environment, loadConfig } from '../config.ts';
import type { Deadline } from '../deadline.ts';
import { openProject } from '../projects/open-project.ts';
import type { OurHandler } from './entries.ts';

/**
 * Runs hooks just as a client would, by the very lines in its settings, in a project made for the purpose, and looks for
 * what each of them is there for: the brief, the message from the inbox, the checkpoint, the reminder. `fault` is null
 * where that was seen.
 */
export async function fireHooks(
  hooks: readonly OurHandler[],
  client: HookClient,
  env: Environment,
  deadline: Deadline,
): Promise<{ readonly event: string; readonly fault: string | null }[]> {
  const root = mkdtempSync(join(tmpdir(), 'relay-doctor-'));
  try {
    const stage = await deadline.race<Stage | null>(setStage(root, env, deadline), () => null);
    if (stage === null) {
      const fault = `not fired: no project could be made to try it in within ${deadline.seconds} s`;
      return hooks.map(({ event }) => ({ event, fault }));
    }
    return await Promise.all(
      hooks.map(async ({ event, handler: { command } }) => {
        const unfit = misplaced(event, command, client) ?? notThere(firstWord(command), env);
        if (unfit !== null) return { event, fault: unfit };
        let fault: string | null = null;
        for (let tries = TRIES; tries > 0 && !deadline.signal.aborted; tries--) {
          const ran = await runLine(command, stage);
          fault = ran.fault ?? lookFor(command, ran.stdout, stage);
          if (fault === null || ran.fault !== null) break;
        }
        return { event, fault };
      }),
    );
  } finally {
    rmSync(root, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** A hook gives up rather than hold its agent up, as it may while everything is tried at once. */
const TRIES = 3;

/** A hook that its client never fires, or that we do not know. */
function misplaced(event: string, command: string, client: HookClient): string | null {
  const known: { readonly [word: string]: string } = HOOK_EVENTS[client];
  const word = lastWord(command);
  if (known[word] === undefined) return `relay has no hook "${word}"`;
  if (known[word] === event) return null;
  const fires = Object.values(known).includes(event);
  return `${fires ? `${event} runs` : `${client} has no event that relay knows as ${event}; it runs`} "${word}", which is for ${known[word]}`;
}

/** Said the same of every line that starts it: it is one cause. */
function notThere(program: string, env: Environment): string | null {
  const found = isAbsolute(program) ? existsSync(program) : findProgram(program, env) !== null;
  return found || program.startsWith('.') ? null : `${program} is not there`;
}

function firstWord(line: string): string {
  const [, quoted, bare] = /^\s*(?:"((?:[^"\\]|\\.)*)"|(\S+))/.exec(line) ?? [];
  return quoted?.replace(/\\(.)/g, '$1') ?? bare ?? '';
}

function lastWord(line: string): string {
  return line.trim().split(/\s+/).at(-1)!;
}

interface Stage {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly mark: string;
  readonly deadline: Deadline;
}

async function setStage(root: string, env: Environment, deadline: Deadline): Promise<Stage> {
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
  const stage = { folder, mark, deadline, env: { ...rest, RELAY_HOME: home, RELAY_AGENT: 'doctor' } };
  // Something that is not yet written down, as far as git is there to see it.
  await runLine('git init -q .', stage);
  writeFileSync(join(folder, 'work.txt'), '');
  const { openRelay } = await import('../store/open-relay.ts');
  await using open = await openRelay(loadConfig({}, { home }));
  await (await open.client()).inbox.follow('doctor', 'doctor');
  await (await open.client()).publish('doctor', mark);
  return stage;
}

function lookFor(command: string, stdout: string, { folder, mark }: Stage): string | null {
  switch (lastWord(command)) {
    case 'session-start':
      return stdout.includes(mark) ? null : 'it ran, but the brief is not in its answer';
    case 'prompt-submit':
      return stdout.includes(mark) ? null : 'it ran, but did not tell of a message in the inbox';
    case 'pre-compact': {
      const state = readFileSync(join(folder, 'state.json'), 'utf8');
      return state.includes('"checkpoint"') ? null : 'it ran, but saved nothing';
    }
    default: {
      const reminded = stdout.includes('project sync') || !existsSync(join(folder, '.git', 'HEAD'));
      return reminded ? null : 'it ran, but did not remind of the sync';
    }
  }
}

function runLine(line: string, { folder: cwd, env, mark, deadline }: Stage): Promise<Ran> {
  const input = { cwd, session_id: mark, source: 'startup', trigger: 'manual', prompt: 'doctor' };
  return run({ command: line, args: [], shell: true, cwd, env, input: JSON.stringify(input) }, deadline);
}

/** Starts an MCP server over stdio as a client would, and asks for its tools. Throws a sentence where that fails. */
export async function listTools(
  { command, args, cwd, env }: Pick<Start, 'command' | 'args' | 'cwd' | 'env'>,
  deadline: Deadline,
): Promise<string[]> {
  const missing = notThere(command, env);
  if (missing !== null) throw new Error(missing);
  const clientInfo = { name: 'relay doctor', version: '1' };
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
  const asked = [
    { id: 1, method: 'initialize', params },
    { method: 'notifications/initialized' },
    { id: 2, method: 'tools/list', params: {} },
  ];
  const input = asked.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join('');
  // A client keeps its end open for as long as it lives: whoever answers only at the end never answers.
  const answered = (stdout: string) => /"id":\s*2\b[^\n]*\n/.test(stdout);
  const { stdout, fault } = await run({ command, args, cwd, env, input, answered }, deadline);
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

interface Start {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Environment;
  readonly input: string;
  readonly shell?: boolean;
  /** Whether what was wanted has come; its input ends only then. */
  readonly answered?: (stdout: string) => boolean;
}

/** Whatever it starts goes with it when time is up. */
function run({ command, args, input, answered, ...o }: Start, deadline: Deadline): Promise<Ran> {
  const grouped = process.platform !== 'win32';
  const child = spawn(command, args, { ...o, env: { ...o.env }, detached: grouped, windowsHide: true });
  const { promise, resolve } = Promise.withResolvers<Ran>();
  let [stdout, stderr] = ['', ''];
  const end = () => {
    try {
      if (grouped) process.kill(-child.pid!, 'SIGKILL');
      else child.kill('SIGKILL');
    } catch {
      // It has ended by itself.
    }
  };
  const timeUp = () => {
    end();
    resolve({ stdout, fault: `it did not ${answered ? 'answer' : 'end'} within ${deadline.seconds} s` });
  };
  if (deadline.signal.aborted) timeUp();
  deadline.signal.addEventListener('abort', timeUp, { once: true });
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    if (!answered?.(stdout)) return;
    resolve({ stdout, fault: null });
    end();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    if (stderr.length < STDERR_CHARS) stderr += text;
  });
  child.stdin.on('error', () => {});
  if (answered) child.stdin.write(input);
  else child.stdin.end(input);
  child.once('error', (error) => resolve({ stdout: '', fault: error.message }));
  child.once('close', (status, signal) => {
    const words = stderr.trim().split('\n')[0];
    const fault = status === 0 ? null : `it ended with ${status ?? signal}${words ? `: ${words}` : ''}`;
    resolve({ stdout, fault });
  });
  return promise.finally(() => deadline.signal.removeEventListener('abort', timeUp));
}

/** Only the first line of it is told. */
const STDERR_CHARS = 10_000;
