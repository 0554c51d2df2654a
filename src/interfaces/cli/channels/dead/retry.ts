import { answerCommand } from '../../command.ts';
import { chosenLetters } from './chosen-letters.ts';

export default answerCommand({
  usage: '<channel> [number…]',
  details: `The group that could not do it gets it once more, with all of its attempts. A task, which has its failed result by then, is sent
anew under another id. What the channel no longer keeps cannot be tried again: send it anew.`,
  takes: { min: 1, max: 100 },
  flags: { all: { help: 'all there are' } },
  examples: [
    ['relay channel dead retry tasks 7', 'by the number that the list shows'],
    ['relay channel dead retry tasks --all', 'when what was wrong is mended'],
  ],
  async ask({ args, flags, open }) {
    const { channels } = (await open()).relay;
    const retried = [];
    for (const seq of await chosenLetters(channels, args, flags.all)) {
      retried.push({ letter: seq, ...(await channels.retryDead(args[0]!, seq)) });
    }
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
