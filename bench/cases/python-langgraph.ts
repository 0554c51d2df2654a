import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, globSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Bench, claimOf, type Measured } from '../bench.ts';
import { processorMs } from '../processes.ts';
import { plainEnv, ROOT, type Server, startRelay, temporaryFolder } from '../servers.ts';
import { median, type Round, summarise } from '../statistics.ts';

const SCRIPT = join(ROOT, 'bench', 'langgraph-saver.py');

interface Took {
  readonly wall: number;
  readonly cpu: number;
}

/** A graph of 200 steps whose checkpoints are stored with the Python saver and with the official saver for SQLite. */
export default [
  bench('large', 'a value of 100 KB that each step replaces', 2),
  bench('messages', 'a list of messages that each step extends by 1 KB', null),
] satisfies Bench[];

function bench(shape: string, what: string, limit: number | null): Bench {
  return {
    name: `python-langgraph-${shape}`,
    claim: claimOf(limit),
    limit,
    async run({ rounds }) {
      const python = installed();
      if (python === null) return { skipped: 'no Python 3.10 or newer with venv, or PyPI cannot be reached' };
      await using relay = await startRelay();
      return compare(python, relay, shape, what, rounds);
    },
  };
}

function compare(python: string, relay: Server, shape: string, what: string, rounds: number): Measured {
  using temporary = temporaryFolder();
  const folder = temporary.path;
  const runs: Round[] = [];
  const histories: Round[] = [];
  const disks: Round[] = [];
  // The first round compiles the hot code of the relay, so it does not count.
  for (let round = 0; round <= rounds; round++) {
    const [database, space] = [join(folder, `${round}.db`), `${relay.url}#${shape}-${round}`];
    const before = [bytes(folder), bytes(relay.folder)] as const;
    const run = both(python, relay, shape, 'run', database, space);
    const disk = { baseline: bytes(folder) - before[0], ours: bytes(relay.folder) - before[1] };
    const history = both(python, relay, shape, 'history', database, space);
    if (round === 0) continue;
    runs.push(run);
    histories.push(history);
    disks.push(disk);
  }
  const detail = `a run of 200 steps in Python with ${what}; baseline: SqliteSaver of langgraph-checkpoint-sqlite`;
  const run = summarise(runs, 'ms', detail);
  const history = summarise(histories, 'ms', detail);
  const disk = median(disks.map(({ ours, baseline }) => ours / baseline));
  const more =
    `${shape}, times the official saver: run ${times(run)}, CPU time ${times(run.work!)}; ` +
    `history ${times(history)}, CPU time ${times(history.work!)}; disk ${disk.toFixed(2)}`;
  return { ...run, more };
}

function times({ ratio }: Measured): string {
  return ratio.toFixed(1);
}

/** Measures one round with both savers. The CPU time of our saver includes the relay's. */
function both(
  python: string,
  relay: Server,
  shape: string,
  phase: string,
  database: string,
  space: string,
): Round {
  const baseline = took(python, 'sqlite', shape, phase, database);
  const before = processorMs(relay.pid);
  const ours = took(python, 'relay', shape, phase, space);
  const work = { ours: ours.cpu + processorMs(relay.pid) - before, baseline: baseline.cpu };
  return { ours: ours.wall, baseline: baseline.wall, work };
}

function took(python: string, ...args: string[]): Took {
  return JSON.parse(execFileSync(python, [SCRIPT, ...args], { encoding: 'utf8', env: plainEnv() }));
}

function bytes(folder: string): number {
  return globSync('**', { cwd: folder })
    .map((path) => statSync(join(folder, path)))
    .reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0);
}

/** Returns a Python with the package of this clone and the official saver, or null if they cannot be installed. */
function installed(): string | null {
  const venv = join(ROOT, 'node_modules', '.cache', 'bench-langgraph');
  const python = join(venv, 'bin', 'python');
  const succeeds = (program: string, ...args: string[]) =>
    spawnSync(program, args, { cwd: ROOT, stdio: 'ignore' }).status === 0;
  if (!existsSync(python) && !succeeds('python3', '-m', 'venv', venv)) return null;
  const packages = ['-e', './python[langgraph]', 'langgraph-checkpoint-sqlite'];
  return succeeds(python, '-m', 'pip', 'install', '--quiet', ...packages) ? python : null;
}
