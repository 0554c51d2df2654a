import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench } from './bench.ts';
import { benchFolder, plainEnv, RELAY } from './servers.ts';
import { type Round, summarise } from './statistics.ts';

/** How long an agent waits for one of its hooks, against a Node that does nothing. */
export function hookBench(event: string): Bench {
  return {
    name: `hook-${event}`,
    claim: 'at most 2.3×',
    limit: 2.3,
    async run({ rounds }) {
      const home = benchFolder();
      try {
        const folder = join(home, 'project');
        mkdirSync(folder);
        for (const line of SETUP) node([RELAY, ...line], home, folder);
        const input = JSON.stringify({
          cwd: folder,
          session_id: 'bench',
          source: 'startup',
          prompt: 'go on',
        });
        const ours = () => time(() => node([RELAY, 'hook', 'claude', event], home, folder, input));
        const baseline = () => time(() => node(['-e', '0'], home, folder, input));
        const result: Round[] = [];
        for (let i = 0; i < rounds * 2; i++) result.push({ ours: ours(), baseline: baseline() });
        // The first few fill the caches of the disk.
        const detail = `relay hook claude ${event} in a project, on the local store, as built; bare Node: node -e 0`;
        return summarise(result.slice(3), 'ms', detail);
      } finally {
        rmSync(home, { recursive: true, force: true });
      }
    },
  };
}

/** A project as it is after a week or so, and a store. */
const SETUP: readonly (readonly string[])[] = [
  ['push', RELAY],
  ['project', 'init'],
  ...Array.from({ length: 8 }, (_, n) => [
    'todo',
    'add',
    // What may pass for an order to a model, or is not ASCII, has to be looked at closely; most projects have some of it.
    n === 3 ? 'Let the user send files — für alle Systeme 🎉' : `Write part ${n} of the migration`,
    '--priority',
    n % 2 ? 'low' : 'high',
  ]),
  ['todo', 'start', '1'],
  ['todo', 'block', '2', '--reason', 'no access to the staging database'],
  ...Array.from({ length: 4 }, (_, n) => [
    'decide',
    `Choice ${n}`,
    '--context',
    'two ways',
    '--decision',
    `the way ${n}`,
    '--consequences',
    'some work',
  ]),
  [
    'project',
    'sync',
    '--task',
    'Migrate the orders',
    '--done',
    'the schema',
    '--next',
    'the data',
    '--note',
    'run it twice',
  ],
];

function node(args: readonly string[], home: string, cwd: string, input = ''): void {
  const env = { ...plainEnv(), RELAY_HOME: home };
  const { status, stderr } = spawnSync(process.execPath, args, { cwd, env, input, encoding: 'utf8' });
  if (status !== 0) throw new Error(`node ${args.join(' ')} ended with exit code ${status}: ${stderr}`);
}

function time(work: () => void): number {
  const began = performance.now();
  work();
  return performance.now() - began;
}
