import type { ChannelsApi } from '../../../../contract/channels.ts';
import { badUsage } from '../../command.ts';
import { parseCount } from '../../human.ts';

/** The dead letters that a command line names: by their numbers, or all. */
export async function chosenLetters(
  channels: Pick<ChannelsApi, 'deadLetters'>,
  [channel, ...numbers]: readonly string[],
  all: boolean | undefined,
): Promise<readonly number[]> {
  if (numbers.length > 0 === Boolean(all)) {
    throw badUsage('Which dead letters?', 'Give their numbers, or --all.');
  }
  if (!all) return numbers.map((number) => parseCount(number.replace(/^#/, ''), 'number', { min: 1 })!);
  return (await channels.deadLetters(channel!)).letters.map(({ seq }) => seq);
}
