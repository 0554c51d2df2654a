import { EXIT, isRelayError } from '../../src/base/errors.ts';

/** Answers `--help`, and tells of what goes wrong in one line on stderr: wrong use ends with 2, everything else with 1. */
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
    console.error(wrongUse ? `${line} (--help shows how it is used)` : line);
    process.exit(wrongUse ? EXIT.usage : EXIT.failed);
  }
}
