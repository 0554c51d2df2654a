import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** Entry file of the program: the source, or the build if the tests run on the build. */
export const ENTRY = process.env.RELAY_TEST_ENTRY ?? resolve(import.meta.dirname, '../../bin/relay.ts');

/** Program that runs `ENTRY`: this Node, another supported version, or `env` if `ENTRY` is the executable. */
export const NODE = process.env.RELAY_TEST_NODE ?? process.execPath;

/** Whether the tests run on the executable, which does not read NODE_OPTIONS. */
export const onExecutable = NODE === 'env';

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Standard output as bytes. */
  readonly bytes: Buffer;
}

export interface RunOptions {
  readonly home: string;
  readonly stdin?: string | Uint8Array;
  readonly env?: { readonly [name: string]: string };
  readonly cwd?: string;
}

/** Environment of the program, without the settings of the developer. */
export function cleanEnv(o: Pick<RunOptions, 'home' | 'env'>): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE } = process.env;
  // Commands in the output begin with `relay`, as for an installed program. printed-commands.test.ts tests clones and npx.
  const baseEnv = { TERM: 'xterm-256color', RELAY_HOME: o.home, RELAY_COMMAND: 'relay' };
  return { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE, ...baseEnv, ...o.env };
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

/** Runs a shell line at a terminal. `stdout` contains everything that the terminal shows, including stderr. */
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
    // Ignore write errors: the program may end without reading its input.
    child.stdin.on('error', () => {});
    child.stdin.end(o.stdin ?? '');
    child.on('close', (code, signal) => {
      const bytes = Buffer.concat(out);
      const stderr = Buffer.concat(err).toString();
      done({ code: code ?? (signal ? 128 : -1), stdout: bytes.toString(), stderr, bytes });
    });
  });
}

/** Creates a temporary home, which is deleted on dispose. */
export function temporaryHome(): Disposable & { readonly home: string } {
  const home = mkdtempSync(join(tmpdir(), 'relay-cli-'));
  return { home, [Symbol.dispose]: () => rmSync(home, { recursive: true, force: true, maxRetries: 10 }) };
}
