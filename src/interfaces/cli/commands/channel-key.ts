import { systemEnv } from '../../../base/env.ts';
import { generateFernetKey, isFernetKey } from '../../../formats/fernet.ts';
import { answerCommand, badUsage, defineCommand, refusal } from '../command.ts';
import { moment, printable } from '../human.ts';
import { type Io, pipedText } from '../io.ts';

const newKey = defineCommand({
  usage: '<channel>',
  details: `Subscribers who have the channel key can read encrypted pushes to the channel; the server cannot. Give them
the key in a safe way, outside this relay. They add it with relay channel key add.`,
  flags: {
    force: {
      short: 'f',
      help: 'replace the existing key; earlier payloads can only be decrypted with the old one',
    },
  },
  examples: `
    relay channel key new reviews  # create and save the key, and print it
    relay push notes.md --encrypt --channel reviews  # push for everyone who has the key`,
  async run({ io, host, args, flags }) {
    const channel = args[0]!;
    const keyring = await host.relay.keyring();
    if (!flags.force && (await keyring.get(channel)) !== undefined)
      throw refusal(
        'conflict',
        `There is already a key for ${channel}.`,
        'Print it with: relay channel key show. Replace it with --force.',
      );
    const key = generateFernetKey(systemEnv);
    await keyring.put(channel, key);
    io.result({ channel, key, keyring: keyring.path }, key);
    if (io.interactive && !io.json)
      io.note(`saved in ${keyring.path}; on other machines run: relay channel key add ${channel}`);
  },
});

const addKey = answerCommand({
  usage: '<channel> [-]',
  details: `Reads the key from standard input, so that it does not appear in the shell history or in the process list.`,
  flags: { force: { short: 'f', help: 'replace the existing key' } },
  examples: `
    relay channel key add reviews  # ask for the key
    relay channel key add reviews < key.txt  # read the key from a file`,
  async ask({ io, host, args, flags }) {
    const channel = args[0]!;
    if (args[1] !== undefined && args[1] !== '-')
      throw badUsage(
        'A key on the command line would be visible to other users.',
        `Pass it on standard input: relay channel key add ${channel} < key.txt`,
      );
    const keyring = await host.relay.keyring();
    const existing = await keyring.get(channel);
    const key = await readKey(io);
    if (existing !== undefined && existing !== key && !flags.force)
      throw refusal('conflict', `There is already another key for ${channel}.`, 'Replace it with --force.');
    await keyring.put(channel, key);
    return { channel, keyring: keyring.path };
  },
  print: ({ keyring }) => `saved in ${keyring}`,
});

async function readKey(io: Io): Promise<string> {
  if (io.stdin.isTTY) io.note('Paste the key and press Enter.');
  const typed = await io.ask('Key: ');
  const key = (typed ?? (await pipedText(io, (text) => text.length > 1000))).trim();
  if (isFernetKey(key)) return key;
  throw badUsage(
    'That is not a channel key.',
    'A channel key has 44 characters of URL-safe base64. relay channel key new prints one.',
  );
}

const showKey = answerCommand({
  usage: '<channel>',
  examples: 'relay channel key show reviews  # print the key, to share it with a subscriber',
  async ask({ host, args }) {
    const channel = args[0]!;
    const key = await (await host.relay.keyring()).get(channel);
    if (key === undefined)
      throw refusal(
        'not_found',
        `a key for ${channel}`,
        'Create one with: relay channel key new. Add one you were given with: relay channel key add.',
      );
    return { channel, key };
  },
  print: ({ key }) => key,
});

const listKeys = answerCommand({
  examples: 'relay channel key list  # print channel names, not the keys',
  async ask({ host }) {
    const keyring = await host.relay.keyring();
    return { keys: await keyring.list(), keyring: keyring.path };
  },
  print({ keys }, { interactive, style, typed }) {
    if (!interactive) return keys.map(({ channel }) => printable(channel)).join('\n');
    if (keys.length === 0)
      return style.dim(typed('There are no channel keys. Create one with: relay channel key new NAME'));
    return keys
      .map(({ channel, created_at }) => `${printable(channel)}  ${style.dim(moment(created_at))}`)
      .join('\n');
  },
});

const removeKey = answerCommand({
  usage: '<channel>',
  details: 'Payloads that were encrypted for this key can no longer be decrypted on this machine.',
  examples: 'relay channel key rm reviews  # delete the key from this machine only',
  async ask({ host, args }) {
    const channel = args[0]!;
    if (!(await (await host.relay.keyring()).remove(channel)))
      throw refusal('not_found', `a key for ${channel}`, 'See: relay channel key list');
    return { channel };
  },
  print: ({ channel }) => `deleted the key of ${channel}`,
});

export const commands = { new: newKey, add: addKey, show: showKey, list: listKeys, rm: removeKey };
