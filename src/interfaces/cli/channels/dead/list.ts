import { answerCommand } from '../../command.ts';
import { messageLine } from '../message-line.ts';

export default answerCommand({
  usage: '<channel>',
  details: `What a group has tried as often as it may, or nobody took while it was kept. They stand on the channel NAME.dead too, where
they can be watched, and in the receipts of their pointers.`,
  examples: [
    ['relay channel dead list tasks', 'which there are, and why'],
    ['relay watch tasks.dead', 'to be told of each as it dies'],
  ],
  ask: async ({ args, open }) => (await open()).relay.channels.deadLetters(args[0]!),
  print: ({ letters }, { style }) =>
    letters.map((letter) => messageLine(letter, style)).join('\n') || 'no dead letters',
});
