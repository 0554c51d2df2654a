import { answerCommand, badUsage, defineCommand } from '../command.ts';
import type { Setting } from '../host.ts';
import { folded, plural, printable, rows } from '../human.ts';
import type { Io } from '../io.ts';

/** Formats the value of an option. Text is shown without quotes, any other value as JSON. */
function settingText(value: unknown): string {
  if (value === null) return 'not set';
  return printable(typeof value === 'string' ? value : JSON.stringify(value));
}

const show = answerCommand({
  omitsUrl: true,
  details: `The environment variable comes first, then config.json in the home, then the default. Passwords are not shown. relay help configuration describes all options.`,
  flags: { changed: { help: 'only options that are not at their default' } },
  examples: `
    relay config show  # show all options
    relay config show --changed  # show options set in config.json or the environment
    relay config show --json  # print all options with descriptions as JSON`,
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
    const setVariables = variables.filter(({ value }) => value !== null);
    const lines = [style.dim(file), ''];
    for (const option of options) lines.push(...optionLines(option, io, changed === true));
    if (options.length === 0) lines.push('Every option is at its default.');
    if (setVariables.length > 0) {
      const entries = setVariables.map(({ name, value }): [string, string] => [name, settingText(value)]);
      lines.push('', style.bold('Environment'), rows(style.cyan, entries));
    }
    return lines.join('\n');
  },
});

/** Formats an option as one line. At a terminal, further lines describe the option, unless `brief` is set. */
function optionLines(option: Setting, { style, interactive, width }: Io, brief: boolean): string[] {
  const { name, value, from, variable, problem, help } = option;
  const where = from === 'environment' ? variable : from === 'file' ? 'config.json' : 'default';
  const otherwise = from === 'default' ? '' : `; default ${settingText(option.default)}`;
  const line = `${style.cyan(name.padEnd(20))}${settingText(value)}  ${style.dim(`(${where}${otherwise})`)}`;
  const wrong = problem === undefined ? [] : [`  ${style.red('wrong')} ${problem}`];
  const about = interactive && !brief ? folded(help, width - 2) : [];
  return [line, ...wrong, ...about.map((one) => `  ${style.dim(one)}`)];
}

const get = answerCommand({
  omitsUrl: true,
  usage: '<name>',
  details: `Prints text without quotes and anything else as JSON. Prints nothing if the option is not set and has no default.`,
  flags: { reveal: { help: 'include the password' } },
  examples: `
    relay config get port  # print 7474
    relay config get engine --reveal  # print the address of the cluster with its password`,
  async ask({ host, args, flags }) {
    const [name = ''] = args;
    const settings = await host.settings();
    const value = settings.get(name);
    const seen = settings.show().find((setting) => setting.name === name)!;
    return { name, value: flags.reveal ? value : seen.value, from: seen.from };
  },
  print: ({ value }) => (value === null ? '' : settingText(value)),
});

/** Maximum number of values for an option that is a list. */
const MAX_VALUES = 100;

const set = defineCommand({
  omitsUrl: true,
  usage: '<name> [<value>...]',
  takes: { min: 1, max: MAX_VALUES },
  details: `The value is JSON or text; several values form a list. An invalid value is rejected and the file is not changed. Comments
and other entries in config.json are kept. A server reads the file when it starts.`,
  flags: { default: { help: 'remove the option from the file, so that its default is used' } },
  examples: `
    relay config set port 8080  # set the port of relay up
    relay config set allowed_hosts relay.example relay.internal  # set a list
    relay config set models '{"anthropic": "NAME"}'  # set a JSON value
    relay config set port --default  # reset to the default`,
  async run({ io, host, args, flags }) {
    const [name = '', ...values] = args;
    if (flags.default ? values.length > 0 : values.length === 0)
      throw badUsage(
        flags.default ? '--default takes no value.' : `The value for ${name} is missing.`,
        `Use: relay config set ${name} VALUE, or relay config set ${name} --default`,
      );
    const set = await (await host.settings()).set(name, flags.default ? null : values);
    io.result(
      set,
      () => `${set.name} = ${settingText(set.value)}  (${set.file}${set.changed ? '' : ', unchanged'})`,
    );
    if (set.overridden_by !== null)
      io.warn(`${set.overridden_by} is set in the environment and overrides the file.`);
    if (set.changed && set.restart)
      io.note('Restart the running server to apply it: relay down, then relay up.');
  },
});

const check = answerCommand({
  omitsUrl: true,
  details: `Reads config.json and the environment like a server and prints every error with its line: unknown options, invalid
values, missing files, undefined plans. The exit code is 1 if there is an error.`,
  examples: `
    relay config check  # check before relay up or a deployment
    relay config check --home /etc/contextrelay  # check another home`,
  async ask({ host }) {
    const settings = await host.settings();
    const problems = await settings.check();
    return { ok: problems.every(({ state }) => state !== 'wrong'), file: settings.file, problems };
  },
  print({ file, problems, ok }, { style }) {
    const mark = { wrong: style.red('wrong  '), warning: style.yellow('warning') };
    const lines = problems.map(({ state, where, what }) => `${mark[state]}  ${style.bold(where)}: ${what}`);
    if (ok) lines.push(`${style.green('ok     ')}  ${file}: all options are valid.`);
    else lines.push('', `${plural(problems.filter(({ state }) => state === 'wrong').length, 'error')}.`);
    return lines.join('\n');
  },
  exit: ({ ok }) => (ok ? 0 : 1),
});

export const commands = { show, get, set, check };
