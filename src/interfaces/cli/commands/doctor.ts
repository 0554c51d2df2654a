import { defineCommand } from '../command.ts';
import type { Check } from '../host.ts';

export default defineCommand({
  summary: 'Check that everything works, and say what to do where not',
  details: 'Every line is something that was really tried. Ends with 1 when anything is wrong.',
  examples: [
    ['relay doctor', 'look at Node, the store, the disk and the server'],
    ['relay doctor --url https://relay.example', 'look at a server elsewhere'],
  ],
  async run({ io, host }) {
    const checks: Check[] = [];
    const { style } = io;
    const mark = {
      ok: style.green('ok     '),
      warning: style.yellow('warning'),
      wrong: style.red('wrong  '),
    };
    for await (const check of host.diagnose()) {
      checks.push(check);
      if (io.json) continue;
      io.print(`${mark[check.state]}  ${style.bold(check.name)}: ${check.found}`);
      if (check.fix) io.print(`         ${style.dim('→')} ${check.fix}`);
    }
    const wrong = checks.filter((check) => check.state === 'wrong').length;
    io.result(
      { ok: wrong === 0, checks },
      wrong === 0 ? '\nEverything works.' : `\n${wrong} of ${checks.length} wrong.`,
    );
    return wrong === 0 ? 0 : 1;
  },
});
