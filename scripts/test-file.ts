import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Failure {
  /** Names of the suites and of the test in one text, the outermost suite first. */
  readonly name: string;
  readonly at?: string;
  readonly error: string;
}

export interface Skip {
  readonly name: string;
  readonly reason: string;
}

export interface FileResult {
  readonly file: string;
  readonly passed: number;
  readonly failures: readonly Failure[];
  readonly skips: readonly Skip[];
  readonly ms: number;
  /** Output of the file on stdout and stderr, in the order in which it arrived. */
  readonly output: string;
}

interface Event {
  type: 'dequeue' | 'complete' | 'start' | 'pass' | 'fail' | 'diagnostic' | 'summary';
  name: string;
  nesting: number;
  file?: string;
  line?: number;
  suite?: boolean;
  skip?: string;
  todo?: string;
  failure?: string;
  error?: string;
}

const REPORTER = fileURLToPath(new URL('./test-events.mjs', import.meta.url));
/**
 * Maximum number of characters of output that are kept. Later output is discarded, because the beginning of
 * endless output is the useful part.
 */
const OUTPUT_CHARS = 200_000;
/**
 * Time in ms to wait for output after the test file has exited. A process outside of the file's process group may
 * keep the pipe open.
 */
const LATE_OUTPUT_MS = 2000;

/**
 * Runs one test file in its own process group and returns the result. `run()` of node:test is not enough. It
 * cannot end a file that blocks its event loop, ignores SIGTERM, or leaves a handle or a child process open.
 */
export async function runTestFile(
  file: string,
  timeoutMs: number,
  running: Set<number>,
): Promise<FileResult> {
  const folder = mkdtempSync(join(tmpdir(), 'relay-test-'));
  const eventsPath = join(folder, 'events');
  const began = performance.now();
  try {
    const exit = await spawnFile(file, timeoutMs, eventsPath, running);
    const events = existsSync(eventsPath) ? readEvents(eventsPath) : [];
    return { file, ...judge(file, events, exit), ms: performance.now() - began, output: exit.output };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Exit {
  code: number | null;
  signal: string | null;
  timedOut: boolean;
  timeoutMs: number;
  output: string;
}

function spawnFile(file: string, timeoutMs: number, eventsPath: string, running: Set<number>): Promise<Exit> {
  const env: NodeJS.ProcessEnv = { ...process.env, RELAY_TEST_EVENTS: eventsPath };
  // Many tests start the command line from its sources. A cache of compiled code makes a start four times as fast.
  env.NODE_COMPILE_CACHE ??= resolve('node_modules', '.cache', 'compile');
  // NODE_TEST_CONTEXT is set if this code runs inside a test. Remove it: with this variable, the child would send its
  // results to the runner of that test, which does not read them.
  delete env.NODE_TEST_CONTEXT;
  const flags = [`--test-reporter=${REPORTER}`, '--test-reporter-destination=stdout', '--enable-source-maps'];
  return new Promise((answer) => {
    const child = spawn(process.execPath, [...flags, file], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    let output = '';
    let timedOut = false;
    const keep = (text: string) => {
      if (output.length < OUTPUT_CHARS) output += text;
    };
    child.stdout.setEncoding('utf8').on('data', keep);
    child.stderr.setEncoding('utf8').on('data', keep);
    const group = child.pid;
    if (group !== undefined) running.add(group);
    const timer = setTimeout(() => {
      timedOut = true;
      if (group !== undefined) endGroup(group);
    }, timeoutMs);
    const done = (code: number | null, signal: string | null) => {
      clearTimeout(timer);
      if (group !== undefined) running.delete(group);
      answer({ code, signal, timedOut, timeoutMs, output });
    };
    child.once('error', (error) => {
      keep(String(error));
      done(null, null);
    });
    child.once('exit', (code, signal) => {
      // Kill the processes that the file left running. Otherwise they would outlive the test run and keep the
      // pipes open.
      if (group !== undefined) endGroup(group);
      const late = setTimeout(() => child.stdout.destroy() && child.stderr.destroy(), LATE_OUTPUT_MS);
      child.once('close', () => {
        clearTimeout(late);
        done(code, signal);
      });
    });
  });
}

export function endGroup(group: number): void {
  try {
    process.kill(-group, 'SIGKILL');
  } catch {
    // Nothing to kill: the process group no longer exists.
  }
}

function readEvents(path: string): Event[] {
  const lines = readFileSync(path, 'utf8').split('\n');
  // Ignore the last line: it is empty, or incomplete because the process was killed.
  return lines.slice(0, -1).map((line) => JSON.parse(line) as Event);
}

function judge(file: string, events: readonly Event[], exit: Exit) {
  const failures: Failure[] = [];
  const skips: Skip[] = [];
  let passed = 0;
  const names: string[] = [];
  for (const event of events) {
    if (event.type === 'start') names[event.nesting] = event.name;
    if (event.type !== 'pass' && event.type !== 'fail') continue;
    const name = [...names.slice(0, event.nesting), event.name].join(' › ');
    const at = event.file && event.line ? `${event.file}:${event.line}` : undefined;
    const reason = event.skip ?? (event.todo === undefined ? undefined : `to do: ${event.todo}`);
    if (reason === '' || reason === 'true') {
      failures.push({ name, at, error: 'Skipped without a reason: say why.' });
    } else if (reason !== undefined) {
      skips.push({ name, reason });
    } else if (event.type === 'fail') {
      // If a suite fails because one of its tests failed, list only the failure of the test.
      if (event.failure !== 'subtestsFailed') failures.push({ name, at, error: event.error ?? 'failed' });
    } else if (!event.suite) {
      passed += 1;
    }
  }
  const broken = brokenFile(events, exit, passed + skips.length, failures.length);
  if (broken) failures.push({ name: file, error: broken });
  return { passed, failures, skips };
}

/**
 * Returns a failure of the file itself, such as a timeout, or undefined. Failures of its tests are not
 * included.
 */
function brokenFile(events: readonly Event[], exit: Exit, fine: number, failed: number): string | undefined {
  if (exit.timedOut) {
    return `The file did not end within ${exit.timeoutMs / 1000} s and was killed ${underWay(events)}.`;
  }
  if (exit.signal) return `The file was ended by ${exit.signal}.`;
  if (!events.some((event) => event.type === 'summary')) {
    return `The file ended (exit code ${exit.code}) without a word on its tests, if it has any.`;
  }
  if (exit.code !== 0 && failed === 0) {
    const notes = events.filter((event) => event.type === 'diagnostic').map((event) => event.name);
    return [`The tests passed, but the file ended with exit code ${exit.code}.`, ...notes].join('\n');
  }
  return fine + failed === 0 ? 'There is no test in this file.' : undefined;
}

function underWay(events: readonly Event[]): string {
  const open: string[] = [];
  for (const { type, name, nesting } of events) {
    if (type === 'dequeue') open.splice(nesting, Infinity, name);
    if (type === 'complete') open.length = Math.min(open.length, nesting);
  }
  if (open.length > 0) return `during "${open.join(' › ')}"`;
  if (events.some((event) => event.type === 'pass' || event.type === 'fail')) {
    return 'with no test under way: a handle is still open, or the next test blocks the event loop';
  }
  return 'before any test had ended';
}
