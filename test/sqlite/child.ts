import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** A script of `scripts/` in its own process. The script prints lines of JSON. */
export interface Child {
  readonly process: ChildProcess;
  /** Returns the next printed line. Fails if the process ends without one. */
  next<T>(): Promise<T>;
  /** Returns all remaining lines. Fails if the process ends with an error. */
  rest<T>(): Promise<T[]>;
  /** Waits until the process has ended, for whatever reason. */
  ended(): Promise<void>;
}

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Runtime of the scripts: this Node, or Bun if the engine is tested with Bun. */
const RUNTIME = process.env.RELAY_TEST_RUNTIME ?? process.execPath;

/** Starts a script, which gets `options` as JSON in its first argument. `node` are flags of Node. */
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
      const values: T[] = [];
      for (let line = await lines.next(); !line.done; line = await lines.next())
        values.push(JSON.parse(line.value));
      if ((await exited).code !== 0) throw await failed('failed');
      return values;
    },
    async ended() {
      await exited;
    },
  };
}
