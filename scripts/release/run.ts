import { spawnSync } from 'node:child_process';

/** Runs a program that must succeed, and gives what it printed. */
export function must(
  command: string,
  args: readonly string[],
  o: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): string {
  const ran = spawnSync(command, args, { ...o, encoding: 'utf8', maxBuffer: 2 ** 28 });
  if (ran.error) throw new Error(`Cannot run ${command}: ${ran.error.message}`);
  if (ran.status !== 0)
    throw new Error(`${command} ${args.join(' ')} ended with ${ran.status}:\n${ran.stdout}\n${ran.stderr}`);
  return ran.stdout;
}
