import { answerCommand } from '../command.ts';
import { rows } from '../human.ts';

export default answerCommand({
  details: `Nothing needs it: every command makes what it misses. It shows where things are, and what is there already
stays as it is.`,
  examples: [
    ['relay init', 'in ~/.relay'],
    ['relay init --home ./relay', 'somewhere else; RELAY_HOME says the same'],
  ],
  async ask({ host }) {
    const { config, written } = await host.initHome();
    await using store = await host.openStore();
    await store.usage();
    return { home: host.home, config, config_written: written };
  },
  print({ home, config, config_written }, { interactive, style, typed }) {
    const facts = rows(style.dim, [
      ['home', home],
      ['config', `${config}${config_written ? '' : ' (was there, left as it is)'}`],
      ['storage', 'ready'],
    ]);
    const next = `\nNext: ${style.cyan(typed('relay thread new --name my-first-run'))}, or ${typed('relay demo')}.`;
    return interactive ? facts + next : facts;
  },
});
