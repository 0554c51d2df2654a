import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { compileExecutable, findBun } from '../scripts/build/executable.ts';
import type { Bench } from './bench.ts';
import { plainEnv, RELAY, ROOT, temporaryFolder } from './servers.ts';
import { median, type Round, summarise } from './statistics.ts';

interface Command {
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly input?: string;
  /** Arguments of a relay command that runs before each round and is not measured. */
  readonly before?: readonly string[];
}

/** Runs a command of the relay and returns its output. */
export type Relay = (args: readonly string[], o?: Pick<Command, 'cwd' | 'input'>) => string;

let compiled: string | undefined;

/** Returns the path of the executable, or null if Bun is missing. It is compiled once per run of the bench. */
export function benchExecutable(): string | null {
  if (findBun() === null) return null;
  if (compiled === undefined) {
    const folder = join(ROOT, 'node_modules', '.cache', 'executable', 'bench');
    const output = join(folder, 'relay');
    mkdirSync(folder, { recursive: true });
    compileExecutable(output);
    compiled = output;
  }
  return compiled;
}

/**
 * Measures a command of the executable on the local store. The baseline is a bare `node -e 0`. The time of the relay
 * command with the npm package on Node is printed below the table.
 */
export function commandBench(
  name: string,
  detail: string,
  prepare: (relay: Relay, home: string) => Command,
  limit = 1,
): Bench {
  return {
    name,
    claim: `at most ${limit}×`,
    limit,
    async run({ rounds }) {
      const executable = benchExecutable();
      if (executable === null) return { skipped: 'npm has no Bun for this platform' };
      using temporary = temporaryFolder();
      const home = temporary.path;
      const run = (program: string, args: readonly string[], o: Pick<Command, 'cwd' | 'input'> = {}) => {
        // The executable is on the PATH, as after an installation.
        const PATH = `${dirname(executable)}${delimiter}${process.env.PATH}`;
        const env = { ...plainEnv(), RELAY_HOME: home, PATH };
        const { status, stdout, stderr } = spawnSync(program, args, { ...o, env, encoding: 'utf8' });
        if (status !== 0)
          throw new Error(`${program} ${args.join(' ')} ended with exit code ${status}: ${stderr}`);
        return stdout;
      };
      const relay: Relay = (args, o) => run(executable, args, o);
      const { args, before, cwd, input = '' } = prepare(relay, home);
      const result: Round[] = [];
      const measureOurs = () => {
        if (before) relay(before, { cwd });
        return time(() => relay(args, { cwd, input }));
      };
      const measureBaseline = () => time(() => run(process.execPath, ['-e', '0'], { cwd, input }));
      for (let i = 0; i < rounds * 2; i++) {
        // Alternate the order, because a process starts faster right after a smaller one.
        const [first, second] = i % 2 ? [measureOurs, measureBaseline] : [measureBaseline, measureOurs];
        const times = [first(), second()] as const;
        const [ours, baseline] = i % 2 ? times : times.toReversed();
        result.push({ ours: ours!, baseline: baseline! });
      }
      const onNode = Array.from({ length: rounds }, () => {
        if (before) relay(before, { cwd });
        return time(() => run(process.execPath, [RELAY, ...args], { cwd, input }));
      });
      // The first rounds fill the disk cache, so they do not count.
      return {
        ...summarise(result.slice(3), 'ms', `${detail}, executable; baseline: node -e 0`),
        more: `The npm package on Node ${process.versions.node}: ${median(onNode).toFixed(1)} ms`,
      };
    },
  };
}

function time(work: () => void): number {
  const began = performance.now();
  work();
  return performance.now() - began;
}
