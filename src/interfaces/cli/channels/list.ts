import { answerCommand } from '../command.ts';
import { moment, plural, printable } from '../human.ts';
import { firstItems } from '../pages.ts';

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
    const names = channels.map(({ name }) => printable(name));
    if (!interactive) return names.join('\n');
    if (channels.length === 0)
      return style.dim('There are no channels yet. Begin with: relay publish NAME "hello"');
    const width = Math.max(...names.map((name) => name.length)) + 2;
    const lines = channels.map(({ messages, last_at, groups }, i) => {
      const facts = [plural(messages, 'message')];
      if (last_at !== null) facts.push(`last ${moment(last_at)}`);
      if (groups.length > 0) facts.push(`groups ${groups.map(printable).join(', ')}`);
      return `${style.cyan(names[i]!.padEnd(width))}${facts.join(' · ')}`;
    });
    return lines.join('\n');
  },
});
