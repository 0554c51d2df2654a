import type { ChannelDetail, GroupDetail } from '../../../contract/channels.ts';
import { defineCommand } from '../command.ts';
import { moment, plural, printable, rows, span } from '../human.ts';
import type { Style } from '../style.ts';

export default defineCommand({
  usage: '<channel>',
  takes: { min: 1 },
  examples: [
    ['relay channel inspect tasks', 'who works on what, and what waits'],
    ['relay channel inspect tasks --json | jq ".groups[].backlog"', 'what waits, as a number'],
  ],
  async run({ io, host, args }) {
    await using open = await host.openClient();
    const detail = await open.relay.channels.inspect(args[0]!);
    io.result(detail, () => describe(detail, io.style, Date.now()));
  },
});

function describe(detail: ChannelDetail, style: Style, now: number): string {
  const { messages, first_seq, last_seq, last_at } = detail;
  const kept = messages > 0 ? `${plural(messages, 'message')}, #${first_seq} to #${last_seq}` : 'none';
  const lines = [
    rows(style.dim, [
      ['channel', printable(detail.name)],
      ['kept', kept],
      ['last', last_at === null ? 'never' : moment(Date.parse(last_at), now)],
      ['groups', detail.groups.length === 0 ? 'none' : String(detail.groups.length)],
    ]),
    ...detail.groups.map((group) => describeGroup(group, style, now)),
  ];
  return lines.join('\n\n');
}

function describeGroup({ name, backlog, members, leases }: GroupDetail, style: Style, now: number): string {
  const lines = [
    `${style.bold(printable(name))}  ${plural(backlog, 'message')} waiting · ${plural(members.length, 'member')} · ${plural(leases.length, 'lease')}`,
    ...members.map(
      (member) =>
        `  member ${style.cyan(printable(member.name))} since ${moment(Date.parse(member.since), now)}`,
    ),
    ...leases.map(({ seq, member, attempt, lease_until }) => {
      const left = Date.parse(lease_until) - now;
      return `  #${seq} is with ${style.cyan(printable(member))} for another ${span(left)}, attempt ${attempt}`;
    }),
  ];
  return lines.join('\n');
}
