import { answerCommand } from '../../command.ts';
import { moment, printable } from '../../human.ts';

export default answerCommand({
  examples: [['relay channel key list', 'their names, never the keys']],
  async ask({ host }) {
    const keyring = await host.keyring();
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
