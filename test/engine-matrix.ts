import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { type FileResult, runTestFile } from '../scripts/test-file.ts';

/** Time limit of a test file in ms. It is long, because each test first creates its own store. */
const FILE_MS = 300_000;

export interface Matrix {
  /** Name of the engine in the test names: `passes on …`. */
  readonly on: string;
  /** Time limit of a file in ms. */
  readonly fileMs?: number;
  /** Number of files that run at once; one by default. */
  readonly atOnce?: number;
  /** Reason to skip all files on this machine, or false. */
  readonly skip?: string | false;
  /** Starts the engine. The test files find it by the returned environment variables. */
  start(): Promise<{ readonly variables: { readonly [name: string]: string }; stop(): Promise<void> }>;
  /** Tests that cannot pass on this engine, with the reason, by file and name. If one passes, the run fails. */
  readonly deviations?: { readonly [file: string]: { readonly [name: string]: string } };
}

/** Runs test files unchanged on another engine, as one test each. */
export async function runMatrix(files: readonly string[], { on, skip = false, ...o }: Matrix): Promise<void> {
  let stop: (() => Promise<void>) | null = null;
  const running = new Set<number>();
  describe(`on ${on}`, { concurrency: o.atOnce ?? 1 }, () => {
    before(async () => {
      if (skip) return;
      const started = await o.start();
      stop = started.stop;
      Object.assign(process.env, started.variables);
    });
    after(async () => {
      for (const group of running) process.kill(-group, 'SIGKILL');
      await stop?.();
    });
    for (const file of files) {
      test(`${file} passes on ${on}`, { skip }, async () => {
        judge(await runTestFile(file, o.fileMs ?? FILE_MS, running), Object.keys(o.deviations?.[file] ?? {}));
      });
    }
  });
}

function judge({ passed, failures }: FileResult, deviations: readonly string[]): void {
  const failed = failures.map(({ name }) => name);
  assert.deepEqual(
    failures.filter(({ name }) => !deviations.includes(name)).map(({ name, error }) => `${name}: ${error}`),
    [],
  );
  assert.deepEqual(
    deviations.filter((name) => !failed.includes(name)),
    [],
    'these deviate no longer, or are gone: take them off the list',
  );
  assert.ok(passed > 0, 'it has tests');
}

/** Returns all test files that start a relay on the engine under test. */
export function endToEndFiles(): string[] {
  return globSync('test/**/*.test.ts')
    .filter((path) => !/\.(slow|full)\.test\.ts$|^test\/(pins|browser|nats|cloudflare)\//.test(path))
    .filter((path) =>
      /(relay-under-test|channels\/core|\/server|open-threads|guarded-relay)\.ts'/.test(
        readFileSync(path, 'utf8'),
      ),
    )
    .sort();
}
