import { defineCommand } from '../command.ts';
import { rows } from '../human.ts';

export default defineCommand({
  details: `Nothing needs it: every command makes what it misses. It shows where things are, and what is there already
stays as it is.`,
  examples: [
    ['relay init', 'in ~/.relay'],
    ['relay init --home ./relay', 'somewhere else; RELAY_HOME says the same'],
  ],
  async run({ io, host }) {
    const { config, written } = await host.initHome();
    await using store = await host.openStore();
    await store.usage();
    io.result({ home: host.home, config, config_written: written }, () => {
      const lines = [
        rows(io.style.dim, [
          ['home', host.home],
          ['config', `${config}${written ? '' : ' (was there, left as it is)'}`],
          ['storage', 'ready'],
        ]),
      ];
      if (io.interactive)
        lines.push(`Next: ${io.style.cyan('relay thread new --name my-first-run')}, or relay demo.`);
      return lines.join('\n');
    });
  },
});
