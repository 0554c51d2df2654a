import type { Programs } from '../../interfaces/cli/host-agents.ts';
import { commandLine, profileOf } from '../../runners/cli/command-line.ts';
import { findProgram } from '../../runners/cli/find-program.ts';
import { PROFILES } from '../../runners/cli/profiles.ts';
import { promptFiles } from '../../runners/cli/program-steps.ts';
import { runProgram } from '../../runners/cli/run-program.ts';
import type { Environment } from '../config.ts';

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
      return await runProgram(line, {
        env: { ...env, RELAY_THREAD: thread },
        cwd,
        streams: terminal ? 'terminal' : 'output',
        onOutput,
        passSignals: true,
      });
    },
  };
}
