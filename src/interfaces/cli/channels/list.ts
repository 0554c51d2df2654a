import { firstItems } from '../../../base/pages.ts';
import { answerCommand } from '../command.ts';
import { moment, plural, printable, rows } from '../human.ts';

export default answerCommand({
  details: 'A channel is there from its first message on, for as long as its messages are kept.',
  examples: [
    ['relay channels', 'all of them, with what is in them'],
    ['relay channels --json | jq -r ".channels[].name"', 'their names'],
  ],
  async ask({ open }) {
    const { relay } = await open();
    const all = Number.POSITIVE_INFINITY;
    const { items } = await firstItems('channels', all, ({ after }) => relay.channels.list({ after }));
    return { channels: items };
  },
  print({ channels }, { interactive, style }) {
    if (!interactive) return channels.map(({ name }) => printable(name)).join('\n');
    if (channels.length === 0)
      return style.dim('There are no channels yet. Begin with: relay publish NAME "hello"');
    const entries = channels.map(({ name, messages, last_at, groups }): [string, string] => {
      const facts = [plural(messages, 'message')];
      if (last_at !== null) facts.push(`last ${moment(last_at)}`);
      if (groups.length > 0) facts.push(`groups ${groups.map(printable).join(', ')}`);
      return [printable(name), facts.join(' · ')];
    });
    return rows(style.cyan, entries);
  },
});
