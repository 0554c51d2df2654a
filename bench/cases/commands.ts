import { spawnSync } from 'node:child_process';
import { type Commands, isGroup } from '../../src/interfaces/cli/command.ts';
import { SECTIONS } from '../../src/interfaces/cli/commands.ts';
import type { Bench } from '../bench.ts';
import { plainEnv, RELAY, temporaryFolder } from '../servers.ts';
import { median, type Round, summarise } from '../statistics.ts';

/** Loads each command and prints its help. Every use of a command takes at least this time. */
export default {
  name: 'commands',
  claim: null,
  limit: null,
  async run({ rounds }) {
    using temporary = temporaryFolder();
    const home = temporary.path;
    const time = (args: readonly string[]) => {
      const began = performance.now();
      const env = { ...plainEnv(), RELAY_HOME: home };
      const { status, stderr } = spawnSync(process.execPath, args, { env, encoding: 'utf8' });
      if (status !== 0) throw new Error(`${args.join(' ')} ended with exit code ${status}: ${stderr}`);
      return performance.now() - began;
    };
    const all = Object.values(SECTIONS).flatMap((commands) => commandLines(commands));
    const measured: Round[] = [];
    const each: [string, number][] = all.map((command) => {
      const pairs = Array.from({ length: Math.max(2, Math.ceil(rounds / 5)) }, () => ({
        ours: time([RELAY, ...command, '--help']),
        baseline: time(['-e', '0']),
      }));
      measured.push(...pairs);
      return [command.join(' '), median(pairs.map(({ ours, baseline }) => ours / baseline))];
    });
    const slowest = each.toSorted((a, b) => b[1] - a[1]).slice(0, 8);
    return {
      ...summarise(measured, 'ms', `relay … --help of all ${all.length} commands; bare Node: node -e 0`),
      more: `Slowest to load: ${slowest.map(([name, ratio]) => `${name} ${ratio.toFixed(2)}×`).join(', ')}`,
    };
  },
} satisfies Bench;

/** Returns the command lines of these commands and all their subcommands. */
function commandLines(commands: Commands, before: readonly string[] = []): string[][] {
  return Object.entries(commands).flatMap(([word, command]) =>
    isGroup(command) ? commandLines(command.commands, [...before, word]) : [[...before, word]],
  );
}
