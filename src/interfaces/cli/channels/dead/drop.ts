import { answerCommand } from '../../command.ts';
import { chosenLetters } from './chosen-letters.ts';

export default answerCommand({
  usage: '<channel> [number…]',
  details: `It is taken from the list, and nobody will do it. The channel NAME.dead still shows it to who reads it from the beginning, for as
long as messages are kept.`,
  takes: { min: 1, max: 100 },
  flags: { all: { help: 'all there are' } },
  examples: [
    ['relay channel dead drop tasks 7', 'by the number that the list shows'],
    ['relay channel dead drop tasks --all', 'clean up'],
  ],
  async ask({ args, flags, open }) {
    const { channels } = (await open()).relay;
    const dropped = await chosenLetters(channels, args, flags.all);
    for (const seq of dropped) await channels.dropDead(args[0]!, seq);
    return { dropped };
  },
  print: ({ dropped }) => dropped.map((seq) => `dropped #${seq}`).join('\n') || 'no dead letters',
});
