import { RelayError } from '../../../../base/errors.ts';
import { isFernetKey } from '../../../../formats/fernet.ts';
import { answerCommand, badUsage } from '../../command.ts';
import { type Io, pipedText } from '../../io.ts';

export default answerCommand({
  usage: '<channel> [-]',
  details: `The key comes from standard input, so that it is in no shell history and no list of processes.`,
  flags: { force: { short: 'f', help: 'replace the key there is' } },
  examples: [
    ['relay channel key add reviews', 'asks for it'],
    ['relay channel key add reviews < key.txt', 'from a file'],
  ],
  async ask({ io, host, args, flags }) {
    const channel = args[0]!;
    if (args[1] !== undefined && args[1] !== '-') {
      throw badUsage(
        'The key is not taken from the command line, where others could see it.',
        `It is read from standard input: relay channel key add ${channel} < key.txt`,
      );
    }
    const keyring = await host.keyring();
    const known = await keyring.get(channel);
    const key = await readKey(io);
    if (known !== undefined && known !== key && !flags.force) {
      throw new RelayError('conflict', {
        what: `There is another key for ${channel} already.`,
        hint: 'Replace it with --force.',
      });
    }
    await keyring.put(channel, key);
    return { channel, keyring: keyring.path };
  },
  print: ({ keyring }) => `kept in ${keyring}`,
});

async function readKey(io: Io): Promise<string> {
  if (io.stdin.isTTY) io.note('The key is read from standard input: paste it here and press Enter.');
  const asked = await io.ask('The key: ');
  const key = (asked ?? (await pipedText(io, (text) => text.length > 1000))).trim();
  if (isFernetKey(key)) return key;
  throw badUsage(
    'That is not a channel key.',
    'It has 44 characters of URL-safe base64, as relay channel key new prints it.',
  );
}
