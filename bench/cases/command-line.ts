import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench } from '../bench.ts';
import { commandBench, type Relay } from '../command-line.ts';
import { PAYLOAD_BYTES } from '../pointers.ts';
import { RELAY } from '../servers.ts';

const PATCH = '[{"op":"add","path":"/facts/-","value":{"id":"f","key":"db","value":"sqlite"}}]';

/** Commands that agents call all day, and `version`, which only starts and exits. */
export default [
  commandBench('cli-version', 'relay version', () => ({ args: ['version'] })),
  commandBench('cli-peek', 'relay peek of 125 KB', (relay, home) => ({
    args: ['peek', pushed(relay, home)],
  })),
  commandBench('cli-pull', 'relay pull of 125 KB', (relay, home) => ({
    args: ['pull', pushed(relay, home)],
  })),
  commandBench('cli-push', 'relay push of 77 bytes', (_relay, home) => ({ args: ['push', note(home)] })),
  commandBench('cli-artifact-put', 'relay artifact put of 77 bytes', (relay, home) => ({
    args: ['artifact', 'put', note(home), '--thread', thread(relay)],
  })),
  commandBench('cli-state-header', 'relay state header right after relay artifact put', (relay, home) => {
    const at = ['--thread', thread(relay)];
    return { before: ['artifact', 'put', note(home), ...at], args: ['state', 'header', ...at] };
  }),
  commandBench('cli-state-patch', 'relay state patch', (relay) => ({
    args: ['state', 'patch', '--json', PATCH, '--thread', thread(relay)],
  })),
  commandBench('cli-inbox', 'relay inbox with one message', (relay, home) => {
    relay(['follow', 'news', '--as', 'ada']);
    relay(['push', note(home), '--channel', 'news']);
    return { args: ['inbox', '--as', 'ada'] };
  }),
  hookBench('prompt-submit'),
  hookBench('session-start'),
] satisfies Bench[];

function note(home: string): string {
  const file = join(home, 'note.md');
  writeFileSync(
    file,
    'Found it: the index on the orders table was dropped by the last migration.\n'.padEnd(77),
  );
  return file;
}

function pushed(relay: Relay, home: string): string {
  const file = join(home, 'payload.txt');
  writeFileSync(file, 'Call me later.\n'.repeat(PAYLOAD_BYTES / 15));
  return relay(['push', file]).trim();
}

function thread(relay: Relay): string {
  return relay(['thread', 'new']).trim();
}

/** Measures how long an agent waits for a hook in a project that is a git repository. */
function hookBench(event: string): Bench {
  return commandBench(`hook-${event}`, `relay hook claude ${event} in a git repository`, (relay, home) => {
    const cwd = join(home, 'project');
    mkdirSync(cwd);
    const git = (...args: string[]) =>
      execFileSync(
        'git',
        ['-c', 'user.name=A', '-c', 'user.email=a@b', '-c', 'commit.gpgsign=false', ...args],
        {
          cwd,
        },
      );
    git('init', '--quiet');
    for (const args of PROJECT) relay(args, { cwd, input: '' });
    git('add', '--all');
    git('commit', '--quiet', '--message', 'Start');
    const input = JSON.stringify({ cwd, session_id: 'bench', source: 'startup', prompt: 'go on' });
    return { args: ['hook', 'claude', event], cwd, input };
  });
}

/** A project as it is after about a week of work, and a store. */
const PROJECT: readonly (readonly string[])[] = [
  ['push', RELAY],
  ['project', 'init'],
  ...Array.from({ length: 8 }, (_, n) => [
    'todo',
    'add',
    // Include text that takes longer to check: text like an instruction to a model, and non-ASCII text.
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
