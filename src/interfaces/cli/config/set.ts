import { badUsage, defineCommand } from '../command.ts';
import { settingText } from './setting-text.ts';

/** No list of an option is longer by hand. */
const WORDS = 100;

export default defineCommand({
  usage: '<name> [<value>...]',
  takes: { min: 1, max: WORDS },
  details: `The value is JSON or a text, and several words are a list. What the option does not take is refused, and the file stays
as it is. Comments in config.json and whatever else is in there stay. Servers read the file when they start.`,
  flags: { default: { help: 'take the option out of the file, so that its default counts' } },
  examples: [
    ['relay config set port 8080', 'where relay up listens'],
    ['relay config set allowed_hosts relay.example relay.internal', 'a list'],
    [`relay config set models '{"anthropic": "NAME"}'`, 'JSON'],
    ['relay config set port --default', 'back to the default'],
  ],
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
