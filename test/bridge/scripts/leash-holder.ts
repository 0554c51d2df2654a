/** Runs the command it is given as a bridge would, and passes on what it says. */
import { startSupervised } from '../../../src/runners/processes.ts';

startSupervised({ command: process.argv[2]! }, { env: process.env, graceful: true }).stdout.pipe(
  process.stdout,
);
