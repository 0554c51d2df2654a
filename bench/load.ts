import { execFile, fork } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { LoadJob, LoadResult } from './load-client.ts';

/** Runs the clients of a job in a separate process. */
export function runLoad(job: LoadJob): Promise<LoadResult> {
  const child = fork(join(import.meta.dirname, 'load-client.ts'));
  return new Promise((resolve, reject) => {
    child.once('message', (result) => resolve(result as LoadResult));
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`The clients ended with exit code ${code}.`)));
    child.send(job);
  });
}

/** Creates API keys in the store of a home, whether or not a server is running on it. */
export async function makeKeys(
  relay: readonly string[],
  home: string,
  names: readonly string[],
): Promise<string[]> {
  const keys: string[] = [];
  for (const name of names) {
    const [program, ...first] = relay as [string, ...string[]];
    const { stdout } = await promisify(execFile)(program, [...first, 'keys', 'create', name, '--home', home]);
    keys.push(stdout.trim());
  }
  return keys;
}
