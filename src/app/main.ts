import { runCli } from '../interfaces/cli/run.ts';
import { makeHost } from './host.ts';
import { processTerminal } from './terminal.ts';

/** The program. It ends by running out of things to do, or by an exit where that cannot cut output short. */
export async function runMain(argv: readonly string[] = process.argv.slice(2)): Promise<void> {
  const terminal = processTerminal();
  const code = await runCli(argv, terminal, (globals, warn) => makeHost(globals, terminal.env, warn));
  process.exitCode = code || process.exitCode || 0;
  if (terminal.isWritten()) process.exit();
}
