import { EXIT, isRelayError } from '../../src/base/errors.ts';

/**
 * Runs a script that supports `--help`. Prints an error as one line on stderr. Exits with 2 for wrong usage
 * and with 1 for other errors.
 */
export async function runScript(help: string, main: () => Promise<void>): Promise<void> {
  if (process.argv.slice(2).some((word) => word === '--help' || word === '-h')) {
    console.log(help);
    return;
  }
  try {
    await main();
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    const wrongUse = isRelayError(error) ? error.exit === EXIT.usage : code?.startsWith('ERR_PARSE_ARGS');
    const line = message.split('\n')[0]!.replace(/\.( To specify a positional .*)?$/, '');
    console.error(wrongUse ? `${line} (see --help)` : line);
    process.exit(wrongUse ? EXIT.usage : EXIT.failed);
  }
}
