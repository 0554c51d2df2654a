import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench } from './bench.ts';
import { commandBench } from './command-line.ts';
import { RELAY } from './servers.ts';

/** How long an agent waits for one of its hooks. */
export function hookBench(event: string): Bench {
  return commandBench(`hook-${event}`, `relay hook claude ${event} in a project`, (relay, home) => {
    const cwd = join(home, 'project');
    mkdirSync(cwd);
    for (const args of SETUP) relay(args, { cwd, input: '' });
    const input = JSON.stringify({ cwd, session_id: 'bench', source: 'startup', prompt: 'go on' });
    return { args: ['hook', 'claude', event], cwd, input };
  });
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
