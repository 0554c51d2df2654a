import type { ChannelsApi } from '../../../contract/channels.ts';
import { answerCommand, badUsage } from '../command.ts';
import { parseCount } from '../human.ts';
import { messageLine } from './message-line.ts';

/** The dead letters that a command line names: by their numbers, or all. */
async function chosenLetters(
  channels: Pick<ChannelsApi, 'deadLetters'>,
  [channel, ...numbers]: readonly string[],
  all: boolean | undefined,
): Promise<readonly number[]> {
  if (numbers.length > 0 === Boolean(all))
    throw badUsage('Which dead letters?', 'Give their numbers, or --all.');
  if (!all) return numbers.map((number) => parseCount(number.replace(/^#/, ''), 'number', { min: 1 })!);
  return (await channels.deadLetters(channel!)).letters.map(({ seq }) => seq);
}

const listDead = answerCommand({
  usage: '<channel>',
  details: `What a group has tried as often as it may, or nobody took while it was kept. They stand on the channel NAME.dead too, where
they can be watched, and in the receipts of their pointers.`,
  examples: `
    relay channel dead list tasks  # which there are, and why
    relay watch tasks.dead  # to be told of each as it dies`,
  ask: async ({ args, open }) => (await open()).relay.channels.deadLetters(args[0]!),
  print: ({ letters }, { style }) =>
    letters.map((letter) => messageLine(letter, style)).join('\n') || 'no dead letters',
});

const retryDead = answerCommand({
  usage: '<channel> [number…]',
  details: `The group that could not do it gets it once more, with all of its attempts. A task, which has its failed result by then, is sent
anew under another id. What the channel no longer keeps cannot be tried again: send it anew.`,
  takes: { min: 1, max: 100 },
  flags: { all: { help: 'all there are' } },
  examples: `
    relay channel dead retry tasks 7  # by the number that the list shows
    relay channel dead retry tasks --all  # when what was wrong is mended`,
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
          ? `#${letter} goes to ${group} again`
          : `#${letter} was sent anew: relay task wait ${task}`,
      )
      .join('\n') || 'no dead letters',
});

const dropDead = answerCommand({
  usage: '<channel> [number…]',
  details: `It is taken from the list, and nobody will do it. The channel NAME.dead still shows it to who reads it from the beginning, for as
long as messages are kept.`,
  takes: { min: 1, max: 100 },
  flags: { all: { help: 'all there are' } },
  examples: `
    relay channel dead drop tasks 7  # by the number that the list shows
    relay channel dead drop tasks --all  # clean up`,
  async ask({ args, flags, open }) {
    const { channels } = (await open()).relay;
    const dropped = await chosenLetters(channels, args, flags.all);
    for (const seq of dropped) await channels.dropDead(args[0]!, seq);
    return { dropped };
  },
  print: ({ dropped }) => dropped.map((seq) => `dropped #${seq}`).join('\n') || 'no dead letters',
});

export const commands = { list: listDead, retry: retryDead, drop: dropDead };
