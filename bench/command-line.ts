import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench } from './bench.ts';
import { benchFolder, plainEnv, RELAY } from './servers.ts';
import { type Round, summarise } from './statistics.ts';

interface Command {
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly input?: string;
  /** Run before each round, and not measured. */
  readonly before?: readonly string[];
}

/** Runs a command of the relay, as it is published, and gives what it printed. */
export type Relay = (args: readonly string[], o?: Pick<Command, 'cwd' | 'input'>) => string;

/** How long somebody waits for a command on the local store, against a Node that does nothing. */
export function commandBench(
  name: string,
  detail: string,
  prepare: (relay: Relay, home: string) => Command,
): Bench {
  return {
    name,
    claim: 'at most 2×',
    limit: 2,
    async run({ rounds }) {
      const home = benchFolder();
      const node: Relay = (args, o = {}) => {
        const env = { ...plainEnv(), RELAY_HOME: home };
        const { status, stdout, stderr } = spawnSync(process.execPath, args, { ...o, env, encoding: 'utf8' });
        if (status !== 0) throw new Error(`node ${args.join(' ')} ended with exit code ${status}: ${stderr}`);
        return stdout;
      };
      const relay: Relay = (args, o) => node([RELAY, ...args], o);
      try {
        const { args, before, cwd, input = '' } = prepare(relay, home);
        const result: Round[] = [];
        for (let i = 0; i < rounds * 2; i++) {
          if (before) relay(before, { cwd });
          const ours = time(() => relay(args, { cwd, input }));
          result.push({ ours, baseline: time(() => node(['-e', '0'], { cwd, input })) });
        }
        // The first few fill the caches of the disk.
        return summarise(
          result.slice(3),
          'ms',
          `${detail} on the local store, as built; bare Node: node -e 0`,
        );
      } finally {
        rmSync(home, { recursive: true, force: true });
      }
    },
  };
}

/** A note of 77 bytes in a file, and the id of a thread to put it into. */
export function noteAndThread(relay: Relay, home: string): { note: string; thread: string } {
  const note = join(home, 'note.md');
  writeFileSync(
    note,
    'Found it: the index on the orders table was dropped by the last migration.\n'.padEnd(77),
  );
  return { note, thread: relay(['thread', 'new']).trim() };
}

function time(work: () => void): number {
  const began = performance.now();
  work();
  return performance.now() - began;
}
