import { defineCommand } from '../../command.ts';
import { moment, printable } from '../../human.ts';

export default defineCommand({
  examples: [['relay channel key list', 'their names, never the keys']],
  async run({ io, host }) {
    const keyring = await host.keyring();
    const keys = await keyring.list();
    io.result({ keys, keyring: keyring.path }, () => {
      if (!io.interactive) return keys.map(({ channel }) => printable(channel)).join('\n');
      if (keys.length === 0) return io.style.dim('There are none. Make one with: relay channel key new NAME');
      const now = Date.now();
      return keys
        .map(
          ({ channel, created_at }) =>
            `${printable(channel)}  ${io.style.dim(moment(Date.parse(created_at), now))}`,
        )
        .join('\n');
    });
  },
});
