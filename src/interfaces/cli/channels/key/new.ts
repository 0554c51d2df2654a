import { systemEnv } from '../../../../base/env.ts';
import { RelayError } from '../../../../base/errors.ts';
import { generateFernetKey } from '../../../../formats/fernet.ts';
import { defineCommand } from '../../command.ts';

export default defineCommand({
  usage: '<channel>',
  details: `From then on an encrypted push to the channel carries its key sealed to this one: subscribers who have it can pull,
and no server can. Give it to them over a way you trust; they take it with relay channel key add.`,
  flags: { force: { short: 'f', help: 'replace the key there is; what was sealed to it stays sealed' } },
  examples: [
    ['relay channel key new reviews', 'prints the key once, and keeps it'],
    ['relay push notes.md --encrypt --channel reviews', 'who shares the key can read it'],
  ],
  async run({ io, host, args, flags }) {
    const channel = args[0]!;
    const keyring = await host.keyring();
    if (!flags.force && (await keyring.get(channel)) !== undefined) {
      throw new RelayError('conflict', {
        what: `There is a key for ${channel} already.`,
        hint: 'See it with: relay channel key show. Replace it with --force.',
      });
    }
    const key = generateFernetKey(systemEnv);
    await keyring.put(channel, key);
    io.result({ channel, key, keyring: keyring.path }, key);
    if (io.interactive && !io.json)
      io.note(`kept in ${keyring.path}; elsewhere: relay channel key add ${channel}`);
  },
});
