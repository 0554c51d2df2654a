import type { ChannelInfo } from '../../../contract/channels.ts';
import { defineCommand } from '../command.ts';
import { moment, plural, printable } from '../human.ts';

export default defineCommand({
  details: 'A channel is there from its first message on, for as long as its messages are kept.',
  examples: [
    ['relay channels', 'all of them, with what is in them'],
    ['relay channels --json | jq -r ".channels[].name"', 'their names'],
  ],
  async run({ io, host }) {
    await using open = await host.openClient();
    const channels: ChannelInfo[] = [];
    for (let after: string | undefined; ; ) {
      const page = await open.relay.channels.list({ after });
      channels.push(...page.channels);
      if (page.next === undefined) break;
      after = page.next;
    }
    io.result({ channels }, () => {
      if (!io.interactive) return channels.map(({ name }) => printable(name)).join('\n');
      if (channels.length === 0)
        return io.style.dim('There are no channels yet. Begin with: relay publish NAME "hello"');
      const names = channels.map(({ name }) => printable(name));
      const width = Math.max(...names.map((name) => name.length)) + 2;
      const now = Date.now();
      return channels
        .map(({ messages, last_at, groups }, i) => {
          const facts = [
            plural(messages, 'message'),
            last_at === null ? null : `last ${moment(Date.parse(last_at), now)}`,
            groups.length > 0 ? `groups ${groups.map(printable).join(', ')}` : null,
          ];
          return `${io.style.cyan(names[i]!.padEnd(width))}${facts.filter((fact) => fact !== null).join(' · ')}`;
        })
        .join('\n');
    });
  },
});
