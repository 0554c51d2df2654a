import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../../src/app/config.ts';
import { type OpenCore, openCore } from '../../src/app/store/open-core.ts';
import { LOCAL_CALLER } from '../../src/contract/caller.ts';
import type { ThreadsApi } from '../../src/contract/threads.ts';

/** Creates a home that is deleted after the test. */
export function temporaryHome(t: TestContext): string {
  const home = mkdtempSync(join(tmpdir(), 'relay-threads-'));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

export interface LocalStore extends AsyncDisposable {
  readonly core: OpenCore['core'];
  readonly threads: ThreadsApi;
  readonly legible: OpenCore['readableFiles'];
}

/** Opens the store of a home as the program does. */
export async function openLocal(
  home: string,
  env: { [name: string]: string } = {},
  warn?: (what: string) => void,
): Promise<LocalStore> {
  const opened = await openCore(loadConfig({ RELAY_HOME: home, ...env }), 'cli', { warn });
  const { threads } = opened.core.relay(LOCAL_CALLER, 'http://relay.invalid');
  return {
    core: opened.core,
    threads,
    legible: opened.readableFiles,
    [Symbol.asyncDispose]: opened[Symbol.asyncDispose],
  };
}

export interface Patcher {
  readonly process: ChildProcess;
  /** Resolves with the versions that the process made, when it has ended without an error. */
  readonly versions: Promise<number[]>;
  /** Resolves when the process has made this many versions. */
  made(count: number): Promise<void>;
}

/** Starts a separate process that patches a thread. */
export function startPatcher(o: {
  home: string;
  thread: string;
  name: string;
  count: number;
  stay?: boolean;
}): Patcher {
  const script = fileURLToPath(new URL('scripts/patcher.ts', import.meta.url));
  const child = spawn(process.execPath, [script, JSON.stringify(o)], { stdio: ['ignore', 'pipe', 'pipe'] });
  let complaints = '';
  child.stderr.setEncoding('utf8').on('data', (text) => {
    complaints += text;
  });
  const versions: number[] = [];
  const waiting: { count: number; resolve: () => void }[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    versions.push(Number(line));
    for (const one of waiting) if (versions.length >= one.count) one.resolve();
  });
  const ended = once(child, 'close').then(([code]) => {
    if (code !== 0 && code !== null) throw new Error(`a patcher failed: ${complaints}`);
    return versions;
  });
  ended.catch(() => {});
  return {
    process: child,
    versions: ended,
    made: (count) =>
      versions.length >= count
        ? Promise.resolve()
        : new Promise((resolve) => waiting.push({ count, resolve })),
  };
}

// biome-ignore lint/suspicious/noExplicitAny: a test says what should be in it
export function mirrored(home: string, thread: string): { state: any; events: any[] } {
  const folder = join(home, 'threads', thread);
  return {
    state: JSON.parse(readFileSync(join(folder, 'state.json'), 'utf8')),
    events: readFileSync(join(folder, 'events.log'), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  };
}
