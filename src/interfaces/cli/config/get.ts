import { answerCommand } from '../command.ts';
import { printable } from '../human.ts';

export default answerCommand({
  usage: '<name>',
  details: `A text is printed as it is, all else as JSON, and nothing at all where nothing was said and there is no default.`,
  flags: { reveal: { help: 'with the password that is left out otherwise' } },
  examples: [
    ['relay config get port', '7474'],
    ['relay config get engine --reveal', 'the address of the cluster, with its password'],
  ],
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
