import { isatty } from 'node:tty';
import type { Programs } from '../../interfaces/cli/host-agents.ts';
import { commandLine, profileOf } from '../../runners/cli/command-line.ts';
import { findProgram } from '../../runners/cli/find-program.ts';
import { PROFILES } from '../../runners/cli/profiles.ts';
import { promptFiles } from '../../runners/cli/program-steps.ts';
import { runProgram } from '../../runners/cli/run-program.ts';
import type { Environment } from '../config.ts';

/** Signals that are for the program and not for us: it decides, and we end when it has. */
const PASSED: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'];
/** A terminal sends these to everything in the foreground, so the program has got them already. */
const FROM_KEYS: ReadonlySet<NodeJS.Signals> = new Set(['SIGINT', 'SIGQUIT']);

/** Other people's programs, run as if they had been started by themselves. */
export function programs(env: Environment, cwd: string): Programs {
  return {
    known: () =>
      Object.entries(PROFILES).map(([name, { about }]) => ({
        name,
        about,
        installed: findProgram(name, env) !== null,
      })),
    converses: (cli) => profileOf(cli)?.converse !== null,
    async run({ cli, args, promptBy, prompt, terminal, thread, onOutput }) {
      await using files = promptFiles();
      const line =
        prompt === null
          ? { command: cli, args: [...(profileOf(cli)?.converse ?? []), ...args] }
          : await commandLine({ cli, args, promptBy }, prompt, files.write);
      using passing = passSignals();
      return await runProgram(line, {
        env: { ...env, RELAY_THREAD: thread },
        cwd,
        streams: terminal ? 'terminal' : 'output',
        onOutput,
        started: (kill) => passing.to(kill),
      });
    },
  };
}

function passSignals(): Disposable & { to(kill: (signal: NodeJS.Signals) => void): void } {
  let kill: ((signal: NodeJS.Signals) => void) | null = null;
  // Not by `process.stdin`: making it would change the very pipe that the program inherits.
  const atTerminal = isatty(0);
  const handlers = PASSED.map((signal) => {
    const handler = () => {
      if (!(atTerminal && FROM_KEYS.has(signal))) kill?.(signal);
    };
    process.on(signal, handler);
    return [signal, handler] as const;
  });
  return {
    to: (passOn) => {
      kill = passOn;
    },
    [Symbol.dispose]: () => {
      for (const [signal, handler] of handlers) process.off(signal, handler);
    },
  };
}
