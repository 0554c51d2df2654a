import { systemEnv } from '../../../base/env.ts';
import { generateFernetKey, isFernetKey } from '../../../formats/fernet.ts';
import { answerCommand, badUsage, defineCommand, refusal } from '../command.ts';
import { moment, printable } from '../human.ts';
import { type Io, pipedText } from '../io.ts';

const newKey = defineCommand({
  usage: '<channel>',
  details: `From then on an encrypted push to the channel carries its key sealed to this one: subscribers who have it can pull,
and no server can. Give it to them over a way you trust; they take it with relay channel key add.`,
  flags: { force: { short: 'f', help: 'replace the key there is; what was sealed to it stays sealed' } },
  examples: `
    relay channel key new reviews  # prints the key once, and keeps it
    relay push notes.md --encrypt --channel reviews  # who shares the key can read it`,
  async run({ io, host, args, flags }) {
    const channel = args[0]!;
    const keyring = await host.relay.keyring();
    if (!flags.force && (await keyring.get(channel)) !== undefined)
      throw refusal(
        'conflict',
        `There is a key for ${channel} already.`,
        'See it with: relay channel key show. Replace it with --force.',
      );
    const key = generateFernetKey(systemEnv);
    await keyring.put(channel, key);
    io.result({ channel, key, keyring: keyring.path }, key);
    if (io.interactive && !io.json)
      io.note(`kept in ${keyring.path}; elsewhere: relay channel key add ${channel}`);
  },
});

const addKey = answerCommand({
  usage: '<channel> [-]',
  details: `The key comes from standard input, so that it is in no shell history and no list of processes.`,
  flags: { force: { short: 'f', help: 'replace the key there is' } },
  examples: `
    relay channel key add reviews  # asks for it
    relay channel key add reviews < key.txt  # from a file`,
  async ask({ io, host, args, flags }) {
    const channel = args[0]!;
    if (args[1] !== undefined && args[1] !== '-')
      throw badUsage(
        'The key is not taken from the command line, where others could see it.',
        `It is read from standard input: relay channel key add ${channel} < key.txt`,
      );
    const keyring = await host.relay.keyring();
    const known = await keyring.get(channel);
    const key = await readKey(io);
    if (known !== undefined && known !== key && !flags.force)
      throw refusal('conflict', `There is another key for ${channel} already.`, 'Replace it with --force.');
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

const showKey = answerCommand({
  usage: '<channel>',
  examples: 'relay channel key show reviews  # for whoever shall read along',
  async ask({ host, args }) {
    const channel = args[0]!;
    const key = await (await host.relay.keyring()).get(channel);
    if (key === undefined)
      throw refusal(
        'not_found',
        `a key for ${channel}`,
        'Make one with: relay channel key new. Take one with: relay channel key add.',
      );
    return { channel, key };
  },
  print: ({ key }) => key,
});

const listKeys = answerCommand({
  examples: 'relay channel key list  # their names, never the keys',
  async ask({ host }) {
    const keyring = await host.relay.keyring();
    return { keys: await keyring.list(), keyring: keyring.path };
  },
  print({ keys }, { interactive, style, typed }) {
    if (!interactive) return keys.map(({ channel }) => printable(channel)).join('\n');
    if (keys.length === 0)
      return style.dim(typed('There are none. Make one with: relay channel key new NAME'));
    return keys
      .map(({ channel, created_at }) => `${printable(channel)}  ${style.dim(moment(created_at))}`)
      .join('\n');
  },
});

const removeKey = answerCommand({
  usage: '<channel>',
  details: 'What was sealed to it can no longer be read from here.',
  examples: 'relay channel key rm reviews  # on this machine only',
  async ask({ host, args }) {
    const channel = args[0]!;
    if (!(await (await host.relay.keyring()).remove(channel)))
      throw refusal('not_found', `a key for ${channel}`, 'See: relay channel key list');
    return { channel };
  },
  print: ({ channel }) => `removed the key of ${channel}`,
});

export const commands = { new: newKey, add: addKey, show: showKey, list: listKeys, rm: removeKey };
