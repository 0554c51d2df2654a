/** Runs the command it is given as a bridge would, and passes on what it says. */
import { leashedShell } from '../../../src/runners/leashed-shell.ts';

leashedShell(process.argv[2]!, { env: process.env }).stdout.pipe(process.stdout);
