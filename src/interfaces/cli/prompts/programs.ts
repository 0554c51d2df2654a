import { defineCommand } from '../command.ts';
import { rows, unpainted } from '../human.ts';

export default defineCommand({
  examples: [['relay wrap list', 'what --cli can name without more ado']],
  async run({ io, host }) {
    await using work = await host.openAgentWork(io.cwd);
    const known = work.programs.known();
    io.result({ programs: known }, () =>
      rows(
        unpainted,
        known.map(({ name, about, installed }) => [
          name,
          `${about}${installed ? '' : io.style.dim(', not here')}`,
        ]),
      ),
    );
  },
});
