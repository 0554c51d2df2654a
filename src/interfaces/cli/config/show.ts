import { answerCommand } from '../command.ts';
import type { Setting } from '../host-config.ts';
import { folded, rows } from '../human.ts';
import type { Io } from '../io.ts';
import { settingText } from './setting-text.ts';

export default answerCommand({
  details: `What counts for an option is the variable of the environment that is named for it, else config.json in the home,
else the default. Passwords are not shown. docs/configuration.md says the same as a page.`,
  flags: { changed: { help: 'only what is not at its default' } },
  examples: [
    ['relay config show', 'every option'],
    ['relay config show --changed', 'what was said in config.json or in the environment'],
    ['relay config show --json', 'for a program, with what each option is for'],
  ],
  async ask({ host, flags }) {
    const settings = await host.settings();
    const all = settings.show();
    return {
      home: host.home,
      file: settings.file,
      options: flags.changed ? all.filter(({ from }) => from !== 'default') : all,
      variables: settings.variables(),
    };
  },
  print({ file, options, variables }, io, { changed }) {
    const { style } = io;
    const said = variables.filter(({ value }) => value !== null);
    const lines = [style.dim(file), ''];
    for (const option of options) lines.push(...described(option, io, changed === true));
    if (options.length === 0) lines.push('Every option is at its default.');
    if (said.length > 0) {
      const entries = said.map(({ name, value }): [string, string] => [name, settingText(value)]);
      lines.push('', style.bold('Environment'), rows(style.cyan, entries));
    }
    return lines.join('\n');
  },
});

/** One line; at a terminal, what the option is for below it. */
function described(option: Setting, { style, interactive, width }: Io, brief: boolean): string[] {
  const { name, value, from, variable, problem, help } = option;
  const where = from === 'environment' ? variable : from === 'file' ? 'config.json' : 'default';
  const otherwise = from === 'default' ? '' : `; by default ${settingText(option.default)}`;
  const line = `${style.cyan(name.padEnd(20))}${settingText(value)}  ${style.dim(`(${where}${otherwise})`)}`;
  const wrong = problem === undefined ? [] : [`  ${style.red('wrong')} ${problem}`];
  const about = interactive && !brief ? folded(help, width - 2) : [];
  return [line, ...wrong, ...about.map((one) => `  ${style.dim(one)}`)];
}
