import { answerCommand } from '../command.ts';
import { parseMilliseconds, printable, span } from '../human.ts';

export default answerCommand({
  usage: '<channel> <group>',
  details: `Work that a member gives back, or whose command fails, waits before it is handed out again, by default 1s, 5s, 30s and 2m,
each a little longer by chance. The last wait repeats until the attempts are used up.`,
  flags: {
    retry: { value: 'TIMES', help: 'the waits, by comma: 1s,5s,30s,2m; default for those of the relay' },
  },
  examples: [
    ['relay channel group tasks workers', 'how long it waits'],
    ['relay channel group tasks workers --retry 10s,1m,10m', 'more patience'],
    ['relay channel group tasks workers --retry 0', 'none at all'],
  ],
  async ask({ args, flags, open }) {
    const waits = flags.retry?.split(',').map((wait) => wait.trim());
    const retry =
      flags.retry === 'default' ? null : waits?.map((wait) => parseMilliseconds(wait, '--retry')!);
    const [channel, group] = args as [string, string];
    return { channel, group, ...(await (await open()).relay.channels.setGroup(channel, group, { retry })) };
  },
  print: ({ channel, group, retry }) =>
    `failed work of ${printable(group)} of ${printable(channel)} comes back after ${(retry ?? []).map((ms) => span(ms)).join(', ') || 'no time'}`,
});
