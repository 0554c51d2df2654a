import { runCli } from '../interfaces/cli/run.ts';
import { makeHost } from './host.ts';
import { processTerminal } from './terminal.ts';

/** The program. It ends by running out of things to do, or by an exit where that cannot cut output short. */
export async function runMain(argv: readonly string[] = process.argv.slice(2)): Promise<void> {
  hushExperiments();
  const terminal = processTerminal();
  const code = await runCli(argv, terminal, (globals, warn) => makeHost(globals, terminal.env, warn));
  process.exitCode = code || process.exitCode || 0;
  if (terminal.isWritten()) process.exit();
}

/** That parts of Node which this program uses are experiments, for some of its versions, is no news to a user. */
function hushExperiments(): void {
  const emit = process.emitWarning;
  process.emitWarning = ((warning: string | Error, ...rest: never[]) => {
    if (/SQLite is an experimental/.test(String(warning))) return;
    emit.call(process, warning, ...rest);
  }) as typeof process.emitWarning;
}
