/** Runs the given command as a bridge would, and prints its output. */
import { startSupervised } from '../../../src/runners/processes.ts';

startSupervised({ command: process.argv[2]! }, { env: process.env, graceful: true }).stdout.pipe(
  process.stdout,
);
