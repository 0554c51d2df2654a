import type { ChannelDetail, GroupDetail } from '../../../contract/channels.ts';
import { answerCommand } from '../command.ts';
import { moment, plural, printable, rows, span } from '../human.ts';
import type { Io } from '../io.ts';
import type { Style } from '../style.ts';

export default answerCommand({
  usage: '<channel>',
  examples: [
    ['relay channel inspect tasks', 'who works on what, and what waits'],
    ['relay channel inspect tasks --json | jq ".groups[].backlog"', 'what waits, as a number'],
  ],
  ask: async ({ args, open }) => (await open()).relay.channels.inspect(args[0]!),
  print: describe,
});

function describe(detail: ChannelDetail, { style }: Io): string {
  const { messages, first_seq, last_seq, last_at } = detail;
  const kept = messages > 0 ? `${plural(messages, 'message')}, #${first_seq} to #${last_seq}` : 'none';
  const lines = [
    rows(style.dim, [
      ['channel', printable(detail.name)],
      ['kept', kept],
      ['last', last_at === null ? 'never' : moment(last_at)],
      ['groups', detail.groups.length === 0 ? 'none' : String(detail.groups.length)],
      ...(detail.dead > 0
        ? [
            [
              'dead',
              `${plural(detail.dead, 'letter')}: relay channel dead list ${printable(detail.name)}`,
            ] as const,
          ]
        : []),
    ]),
    ...detail.groups.map((group) => describeGroup(group, style)),
  ];
  return lines.join('\n\n');
}

function describeGroup({ name, backlog, members, leases }: GroupDetail, style: Style): string {
  const lines = [
    `${style.bold(printable(name))}  ${plural(backlog, 'message')} waiting · ${plural(members.length, 'member')} · ${plural(leases.length, 'lease')}`,
    ...members.map(
      (member) => `  member ${style.cyan(printable(member.name))} since ${moment(member.since)}`,
    ),
    ...leases.map(({ seq, member, attempt, lease_until }) => {
      const left = Date.parse(lease_until) - Date.now();
      return `  #${seq} is with ${style.cyan(printable(member))} for another ${span(left)}, attempt ${attempt}`;
    }),
  ];
  return lines.join('\n');
}
