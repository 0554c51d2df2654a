import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** A script of `scripts/` in a process of its own. It tells what it does in lines of JSON. */
export interface Child {
  readonly process: ChildProcess;
  /** The next line it says; fails when it ends without one. */
  next<T>(): Promise<T>;
  /** All that it still says until it ends, which must be without an error. */
  rest<T>(): Promise<T[]>;
  /** Waits until it has ended, however that was. */
  ended(): Promise<void>;
}

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** What runs the scripts: this Node, or Bun where the engine is tested on that. */
const RUNTIME = process.env.RELAY_TEST_RUNTIME ?? process.execPath;

/** `options` are read by the script as JSON from its first argument; `node` are options of Node itself. */
export function startChild(script: string, options: object, node: readonly string[] = []): Child {
  const path = fileURLToPath(new URL(`scripts/${script}.ts`, import.meta.url));
  const child = spawn(RUNTIME, [...node, path, JSON.stringify(options)], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  running.add(child);
  let complaints = '';
  child.stderr.setEncoding('utf8').on('data', (text) => {
    complaints += text;
  });
  const exited = once(child, 'close').then(([code, signal]) => {
    running.delete(child);
    return { code, signal };
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const failed = async (what: string) => {
    const { code, signal } = await exited;
    return new Error(`${script} ${what} (exit code ${code}, signal ${signal}): ${complaints}`);
  };
  return {
    process: child,
    async next<T>() {
      const { done, value } = await lines.next();
      if (done) throw await failed('ended early');
      return JSON.parse(value) as T;
    },
    async rest<T>() {
      const said: T[] = [];
      for (let line = await lines.next(); !line.done; line = await lines.next())
        said.push(JSON.parse(line.value));
      if ((await exited).code !== 0) throw await failed('failed');
      return said;
    },
    async ended() {
      await exited;
    },
  };
}
