import type { ChannelsApi } from '../../../contract/channels.ts';
import { messageLine } from '../channel-message.ts';
import { answerCommand, badUsage } from '../command.ts';
import { parseCount, printable } from '../human.ts';

/** Returns the sequence numbers in the arguments or, with --all, the numbers of all dead letters of the channel. */
async function chosenLetters(
  channels: Pick<ChannelsApi, 'deadLetters'>,
  [channel, ...numbers]: readonly string[],
  all: boolean | undefined,
): Promise<readonly number[]> {
  if (numbers.length > 0 === Boolean(all))
    throw badUsage(
      'Choose dead letters by number or with --all.',
      'Pass their numbers, or --all, but not both.',
    );
  if (!all) return numbers.map((number) => parseCount(number.replace(/^#/, ''), 'number', { min: 1 })!);
  return (await channels.deadLetters(channel!)).letters.map(({ seq }) => seq);
}

const listDead = answerCommand({
  usage: '<channel>',
  details: `A message becomes a dead letter when all attempts failed, or when it expired before anyone handled it. Each dead
letter is also sent to the channel NAME.dead. relay receipts shows it too.`,
  examples: `
    relay channel dead list tasks  # list dead letters with the reason
    relay watch tasks.dead  # show new dead letters as they arrive`,
  ask: async ({ args, open }) => (await open()).relay.channels.deadLetters(args[0]!),
  print: ({ letters }, { style }) =>
    letters
      .map((letter) => [messageLine(letter, style), ...whyLines(letter.dead.why)].join('\n'))
      .join('\n') || 'no dead letters',
});

/** Returns the error of the last failed attempt as indented lines. */
function whyLines(why = ''): string[] {
  return why === '' ? [] : why.split('\n').map((line) => `    ${printable(line)}`);
}

const retryDead = answerCommand({
  usage: '<channel> [number…]',
  details: `Delivers the messages to their group again, with the full number of attempts (five). A task is sent again under a new id, because the old
task already has a failed result. A message that the channel no longer stores cannot be retried; publish or push it again.`,
  takes: { min: 1, max: 100 },
  flags: { all: { help: 'all dead letters of the channel' } },
  examples: `
    relay channel dead retry tasks 7  # retry one, by its number in the list
    relay channel dead retry tasks --all  # retry all`,
  async ask({ args, flags, open }) {
    const { channels } = (await open()).relay;
    const retried = [];
    for (const seq of await chosenLetters(channels, args, flags.all))
      retried.push({ letter: seq, ...(await channels.retryDead(args[0]!, seq)) });
    return { retried };
  },
  print: ({ retried }) =>
    retried
      .map(({ letter, group, task }) =>
        task === undefined
          ? `#${letter} is delivered to ${group} again`
          : `#${letter} was sent again: relay task wait ${task}`,
      )
      .join('\n') || 'no dead letters',
});

const dropDead = answerCommand({
  usage: '<channel> [number…]',
  details: `Removes the messages from the list; they are not delivered again. The channel NAME.dead still contains them until they
expire.`,
  takes: { min: 1, max: 100 },
  flags: { all: { help: 'all dead letters of the channel' } },
  examples: `
    relay channel dead drop tasks 7  # delete one, by its number in the list
    relay channel dead drop tasks --all  # delete all`,
  async ask({ args, flags, open }) {
    const { channels } = (await open()).relay;
    const dropped = await chosenLetters(channels, args, flags.all);
    for (const seq of dropped) await channels.dropDead(args[0]!, seq);
    return { dropped };
  },
  print: ({ dropped }) => dropped.map((seq) => `dropped #${seq}`).join('\n') || 'no dead letters',
});

export const commands = { list: listDead, retry: retryDead, drop: dropDead };
