import type { ChannelDetail, GroupDetail } from '../../../contract/channels.ts';
import { answerCommand, defineCommand } from '../command.ts';
import { moment, parseMilliseconds, plural, printable, rows, span } from '../human.ts';
import type { Io, Style } from '../io.ts';
import { agrees, FORCE_FLAG, removeEach } from '../removal.ts';

const inspect = answerCommand({
  usage: '<channel>',
  examples: `
    relay channel inspect tasks  # show members, leases and backlog
    relay channel inspect tasks --json | jq ".groups[].backlog"  # print the number of waiting messages`,
  ask: async ({ args, open }) => (await open()).relay.channels.inspect(args[0]!),
  print: describe,
});

function describe(detail: ChannelDetail, { style }: Io): string {
  const { messages, first_seq, last_seq, last_at } = detail;
  const keptMessages =
    messages > 0 ? `${plural(messages, 'message')}, #${first_seq} to #${last_seq}` : 'none';
  const dead = `${plural(detail.dead, 'letter')}: relay channel dead list ${printable(detail.name)}`;
  const lines = [
    rows(style.dim, [
      ['channel', printable(detail.name)],
      ['kept', keptMessages],
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
      return `  #${seq} is leased to ${style.cyan(printable(member))} for ${span(left)}, attempt ${attempt}`;
    }),
  ];
  return lines.join('\n');
}

const rm = defineCommand({
  usage: '<channel>…',
  details:
    'Pushed payloads are kept. Stop all members of all groups of the channel first; otherwise the command fails.',
  takes: { min: 1, max: 100 },
  flags: FORCE_FLAG,
  examples: 'relay channel rm builds  # delete a channel',
  async run({ io, args, flags, open }) {
    const { channels } = (await open()).relay;
    return removeEach(io, 'deleted', args, async (name) => {
      if (!(await agrees(io, flags, () => `Delete the channel ${printable(name)}?`))) return false;
      return channels.remove(name);
    });
  },
});

const forgetGroup = answerCommand({
  usage: '<channel> <group>',
  details:
    'The messages stay in the channel. Stop all members of the group first; otherwise the command fails.',
  examples: 'relay channel forget-group tasks workers  # the next worker starts with all stored messages',
  async ask({ args, open }) {
    const [channel, group] = args as [string, string];
    await (await open()).relay.channels.removeGroup(channel, group);
    return { channel, group };
  },
  print: ({ channel, group }) => `deleted group ${group} of ${channel}`,
});

const group = answerCommand({
  usage: '<channel> <group>',
  details: `A failed message waits before it is delivered again: by default 1s, 5s, 30s and 2m, plus a short random time.
The last delay repeats until no attempts are left.`,
  flags: {
    retry: {
      value: 'TIMES',
      help: 'set the delays, separated by commas, such as 1s,5s,30s,2m, or the word default to reset them',
    },
  },
  examples: `
    relay channel group tasks workers  # show the delays
    relay channel group tasks workers --retry 10s,1m,10m  # set longer delays
    relay channel group tasks workers --retry 0  # retry without a delay`,
  async ask({ args, flags, open }) {
    const waits = flags.retry?.split(',').map((wait) => wait.trim());
    const retry =
      flags.retry === 'default' ? null : waits?.map((wait) => parseMilliseconds(wait, '--retry')!);
    const [channel, group] = args as [string, string];
    return { channel, group, ...(await (await open()).relay.channels.setGroup(channel, group, { retry })) };
  },
  print: ({ channel, group, retry }) =>
    `group ${printable(group)} of ${printable(channel)} retries failed messages after ${(retry ?? []).map((ms) => span(ms)).join(', ') || 'no delay'}`,
});

export const commands = {
  inspect,
  rm,
  'forget-group': forgetGroup,
  group,
};
