import { answerCommand } from '../command.ts';
import { plural } from '../human.ts';

export default answerCommand({
  details: `Reads config.json and the environment as a server would, and names every mistake with its line: options that do not exist,
values that cannot be used, files that are missing, plans that nobody defined. Ends with 1 when anything is wrong.`,
  examples: [
    ['relay config check', 'before relay up, or in a script that deploys'],
    ['relay config check --home /etc/contextrelay', 'another home'],
  ],
  async ask({ host }) {
    const settings = await host.settings();
    const problems = await settings.check();
    return { ok: problems.every(({ state }) => state !== 'wrong'), file: settings.file, problems };
  },
  print({ file, problems, ok }, { style }) {
    const mark = { wrong: style.red('wrong  '), warning: style.yellow('warning') };
    const lines = problems.map(({ state, where, what }) => `${mark[state]}  ${style.bold(where)}: ${what}`);
    if (ok) lines.push(`${style.green('ok     ')}  ${file}: every option can be used.`);
    else lines.push('', `${plural(problems.filter(({ state }) => state === 'wrong').length, 'mistake')}.`);
    return lines.join('\n');
  },
  exit: ({ ok }) => (ok ? 0 : 1),
});
