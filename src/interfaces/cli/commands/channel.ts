import type { ChannelDetail, GroupDetail } from '../../../contract/channels.ts';
import { answerCommand } from '../command.ts';
import { moment, parseMilliseconds, plural, printable, rows, span } from '../human.ts';
import type { Io, Style } from '../io.ts';

const inspect = answerCommand({
  usage: '<channel>',
  examples: `
    relay channel inspect tasks  # who works on what, and what waits
    relay channel inspect tasks --json | jq ".groups[].backlog"  # what waits, as a number`,
  ask: async ({ args, open }) => (await open()).relay.channels.inspect(args[0]!),
  print: describe,
});

function describe(detail: ChannelDetail, { style }: Io): string {
  const { messages, first_seq, last_seq, last_at } = detail;
  const kept = messages > 0 ? `${plural(messages, 'message')}, #${first_seq} to #${last_seq}` : 'none';
  const dead = `${plural(detail.dead, 'letter')}: relay channel dead list ${printable(detail.name)}`;
  const lines = [
    rows(style.dim, [
      ['channel', printable(detail.name)],
      ['kept', kept],
      ['last', last_at === null ? 'never' : moment(last_at)],
      ['groups', detail.groups.length === 0 ? 'none' : String(detail.groups.length)],
      ['dead', detail.dead > 0 ? dead : null],
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

const forgetGroup = answerCommand({
  usage: '<channel> <group>',
  details:
    'The messages stay in the channel. A group that still has members at work is not forgotten: stop them first.',
  examples: 'relay channel forget-group tasks workers  # the next worker begins with everything there is',
  async ask({ args, open }) {
    const [channel, group] = args as [string, string];
    await (await open()).relay.channels.removeGroup(channel, group);
    return { channel, group };
  },
  print: ({ channel, group }) => `forgot ${group} of ${channel}`,
});

const group = answerCommand({
  usage: '<channel> <group>',
  details: `Work that a member gives back, or whose command fails, waits before it is handed out again, by default 1s, 5s, 30s and 2m,
each a little longer by chance. The last wait repeats until the attempts are used up.`,
  flags: {
    retry: { value: 'TIMES', help: 'the waits, by comma: 1s,5s,30s,2m; default for those of the relay' },
  },
  examples: `
    relay channel group tasks workers  # how long it waits
    relay channel group tasks workers --retry 10s,1m,10m  # more patience
    relay channel group tasks workers --retry 0  # none at all`,
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

export const commands = {
  inspect,
  'forget-group': forgetGroup,
  group,
};
