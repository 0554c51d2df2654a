import { defineCommand } from '../command.ts';
import { rows } from '../human.ts';

export default defineCommand({
  examples: [['relay wrap list', 'what --cli can name without more ado']],
  async run({ io, host }) {
    await using shop = await host.openWorkshop(io.cwd);
    const known = shop.programs.known();
    io.result({ programs: known }, () =>
      rows(
        known.map(({ name, about, installed }) => [
          name,
          `${about}${installed ? '' : io.style.dim(', not here')}`,
        ]),
      ),
    );
  },
});
