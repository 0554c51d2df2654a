import { answerCommand, badUsage, defineCommand } from '../command.ts';
import type { Setting } from '../host.ts';
import { folded, plural, printable, rows } from '../human.ts';
import type { Io } from '../io.ts';

/** A value of an option for people: a text without quotes, all else as JSON. */
function settingText(value: unknown): string {
  if (value === null) return 'not set';
  return printable(typeof value === 'string' ? value : JSON.stringify(value));
}

const show = answerCommand({
  details: `What counts for an option is the variable of the environment that is named for it, else config.json in the home,
else the default. Passwords are not shown. docs/configuration.md says the same as a page.`,
  flags: { changed: { help: 'only what is not at its default' } },
  examples: `
    relay config show  # every option
    relay config show --changed  # what was said in config.json or in the environment
    relay config show --json  # for a program, with what each option is for`,
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

const get = answerCommand({
  usage: '<name>',
  details: `A text is printed as it is, all else as JSON, and nothing at all where nothing was said and there is no default.`,
  flags: { reveal: { help: 'with the password that is left out otherwise' } },
  examples: `
    relay config get port  # 7474
    relay config get engine --reveal  # the address of the cluster, with its password`,
  async ask({ host, args, flags }) {
    const [name = ''] = args;
    const settings = await host.settings();
    const value = settings.get(name);
    const seen = settings.show().find((setting) => setting.name === name)!;
    return { name, value: flags.reveal ? value : seen.value, from: seen.from };
  },
  print: ({ value }) =>
    value === null ? '' : printable(typeof value === 'string' ? value : JSON.stringify(value)),
});

/** No list of an option is longer by hand. */
const WORDS = 100;

const set = defineCommand({
  usage: '<name> [<value>...]',
  takes: { min: 1, max: WORDS },
  details: `The value is JSON or a text, and several words are a list. What the option does not take is refused, and the file stays
as it is. Comments in config.json and whatever else is in there stay. Servers read the file when they start.`,
  flags: { default: { help: 'take the option out of the file, so that its default counts' } },
  examples: `
    relay config set port 8080  # where relay up listens
    relay config set allowed_hosts relay.example relay.internal  # a list
    relay config set models '{"anthropic": "NAME"}'  # JSON
    relay config set port --default  # back to the default`,
  async run({ io, host, args, flags }) {
    const [name = '', ...words] = args;
    if (flags.default ? words.length > 0 : words.length === 0)
      throw badUsage(
        flags.default ? '--default takes no value.' : `There is no value for ${name}.`,
        `Use it as: relay config set ${name} VALUE, or relay config set ${name} --default`,
      );
    const set = await (await host.settings()).set(name, flags.default ? null : words);
    io.result(
      set,
      () => `${set.name} = ${settingText(set.value)}  (${set.file}${set.changed ? '' : ', as before'})`,
    );
    if (set.overridden_by !== null)
      io.warn(`${set.overridden_by} is set in the environment, and wins over the file.`);
    if (set.changed && set.restart)
      io.note('The server that runs here reads it when it starts: relay down, relay up.');
    return 0;
  },
});

const check = answerCommand({
  details: `Reads config.json and the environment as a server would, and names every mistake with its line: options that do not exist,
values that cannot be used, files that are missing, plans that nobody defined. Ends with 1 when anything is wrong.`,
  examples: `
    relay config check  # before relay up, or in a script that deploys
    relay config check --home /etc/contextrelay  # another home`,
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

export const commands = { show, get, set, check };
