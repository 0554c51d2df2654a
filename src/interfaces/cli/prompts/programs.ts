import { answerCommand } from '../command.ts';
import { rows, unpainted } from '../human.ts';

export default answerCommand({
  examples: [['relay wrap list', 'what --cli can name without more ado']],
  async ask({ io, host }) {
    await using work = await host.openAgentWork(io.cwd);
    return { programs: work.programs.known() };
  },
  print({ programs }, { style }) {
    const here = (installed: boolean) => (installed ? '' : style.dim(', not here'));
    return rows(
      unpainted,
      programs.map(({ name, about, installed }) => [name, `${about}${here(installed)}`]),
    );
  },
});
