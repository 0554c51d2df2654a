import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** The real program, as a user would start it; what was built, where the same tests are run on that. */
export const ENTRY = process.env.RELAY_TEST_ENTRY ?? resolve(import.meta.dirname, '../../bin/relay.ts');

/** The Node that runs it: this one, or another that it supports. */
export const NODE = process.env.RELAY_TEST_NODE ?? process.execPath;

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Standard output as it came. */
  readonly bytes: Buffer;
}

export interface RunOptions {
  readonly home: string;
  readonly stdin?: string | Uint8Array;
  readonly env?: { readonly [name: string]: string };
  readonly cwd?: string;
}

/** Nothing of the developer's own settings reaches the program. */
export function cleanEnv(o: Pick<RunOptions, 'home' | 'env'>): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE } = process.env;
  // As somebody has it who installed it; test/cli/printed-commands.test.ts is about everybody else.
  const own = { TERM: 'xterm-256color', RELAY_HOME: o.home, RELAY_COMMAND: 'relay' };
  return { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE, ...own, ...o.env };
}

/** Runs one command line to its end. */
export function relay(args: readonly string[], o: RunOptions): Promise<Ran> {
  return run(NODE, [ENTRY, ...args], o);
}

/** Runs a shell line, with `$relay` for the program. */
export function shell(line: string, o: RunOptions): Promise<Ran> {
  const env = { relay: `${NODE} ${ENTRY}`, ...o.env };
  return run('bash', ['-c', line], { ...o, env });
}

/** The same at a terminal: what is printed is what someone would see, stderr included. */
export function atTerminal(line: string, o: RunOptions): Promise<Ran> {
  const env = { relay: `${NODE} ${ENTRY}`, NO_COLOR: '1', ...o.env };
  return run('script', ['-qec', `stty cols 100 rows 40; ${line}`, '/dev/null'], { ...o, env });
}

function run(command: string, args: readonly string[], o: RunOptions): Promise<Ran> {
  return new Promise((done, failed) => {
    const child = spawn(command, args, { env: cleanEnv(o), cwd: o.cwd ?? o.home, stdio: 'pipe' });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout.on('data', (chunk) => out.push(chunk));
    child.stderr.on('data', (chunk) => err.push(chunk));
    child.on('error', failed);
    // A program that ends without reading what it was given is its own affair.
    child.stdin.on('error', () => {});
    child.stdin.end(o.stdin ?? '');
    child.on('close', (code, signal) => {
      const bytes = Buffer.concat(out);
      const stderr = Buffer.concat(err).toString();
      done({ code: code ?? (signal ? 128 : -1), stdout: bytes.toString(), stderr, bytes });
    });
  });
}

/** A home of its own for a test file; gone when disposed. */
export function temporaryHome(): Disposable & { readonly home: string } {
  const home = mkdtempSync(join(tmpdir(), 'relay-cli-'));
  return { home, [Symbol.dispose]: () => rmSync(home, { recursive: true, force: true, maxRetries: 10 }) };
}
