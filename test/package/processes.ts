import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { delimiter, join } from 'node:path';

export const ROOT = join(import.meta.dirname, '..', '..');

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly input?: string;
}

export function run(command: string, args: readonly string[], o: RunOptions = {}): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: o.cwd, env: o.env ?? outsideEnv(), stdio: 'pipe' });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text) => {
      stderr += text;
    });
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, stdout, stderr }));
    child.stdin.on('error', () => {}).end(o.input);
  });
}

/** Runs a program and returns its output. Throws if it fails. */
export async function must(command: string, args: readonly string[], o: RunOptions = {}): Promise<string> {
  const { code, stdout, stderr } = await run(command, args, o);
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}:\n${stdout}\n${stderr}`);
  return stdout;
}

/** Returns the environment of a user without this clone: no npm variables, Node of node_modules or relay settings. */
export function outsideEnv(more: Record<string, string> = {}): NodeJS.ProcessEnv {
  const ownVariables =
    /^(npm_|NODE_TEST_|NODE_COMPILE_CACHE|NODE_OPTIONS|NODE_ENV|RELAY_|CONTEXTRELAY_|INIT_CWD)/i;
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !ownVariables.test(name)));
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'));
  return { ...env, PATH: folders.join(delimiter), ...more };
}

/** Returns the path and the version of the Node on the PATH. The test itself may run on another Node. */
export async function machineNode(): Promise<{ path: string; major: number; minor: number }> {
  for (const folder of (outsideEnv().PATH ?? '').split(delimiter)) {
    const path = join(folder, 'node');
    if (!existsSync(path)) continue;
    const version = await must(path, ['-p', 'process.versions.node']);
    const [major = 0, minor = 0] = version.split('.').map(Number);
    return { path: realpathSync(path), major, minor };
  }
  throw new Error('There is no node on the PATH.');
}

export interface Running extends AsyncDisposable {
  readonly url: string;
  readonly child: ChildProcess;
  readonly ended: Promise<{ code: number | null; signal: string | null }>;
  output(): string;
}

/** Starts a server and waits for the line with its address. */
export async function serve(command: string, args: readonly string[], o: RunOptions = {}): Promise<Running> {
  const child = spawn(command, args, {
    cwd: o.cwd,
    env: o.env ?? outsideEnv(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const ended = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  const url = await new Promise<string>((resolve, reject) => {
    const read = (text: string) => {
      output += text;
      const address = /listening on (http:\/\/[\w.:-]+)/.exec(output)?.[1];
      if (address) resolve(address);
    };
    child.stdout.setEncoding('utf8').on('data', read);
    child.stderr.setEncoding('utf8').on('data', read);
    child.once('error', reject);
    void ended.then(() => reject(new Error(`${command} ${args.join(' ')} did not listen:\n${output}`)));
  });
  return {
    url,
    child,
    ended,
    output: () => output,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}
