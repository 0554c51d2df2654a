import { answerCommand, badUsage } from '../command.ts';
import { labelled } from '../human.ts';
import { openThread, THREAD_FLAG } from '../threads/thread-choice.ts';

export default answerCommand({
  details: `Makes a version that equals the one you name. Nothing is lost: the versions between them stay, can be read and
compared, and can be gone back to in the same way.`,
  flags: {
    to: { value: 'v3', help: 'the version to go back to' },
    'if-match': { value: 'v7', help: 'refuse where the state is at another version' },
    ...THREAD_FLAG,
  },
  examples: [
    ['relay state revert --to v3', 'the state as it was at version 3'],
    ['relay state diff v3', 'what that would undo, before you do it'],
  ],
  async ask(call) {
    const { to, 'if-match': if_match } = call.flags;
    if (to === undefined) {
      throw badUsage(
        'There is no version to go back to.',
        'Use: relay state revert --to v3. See what there is: relay state log',
      );
    }
    const { threads, id } = await openThread(call, { use: true });
    return threads.revert(id, { to, if_match });
  },
  print: ({ state_ref }, io) => labelled(io, 'state_ref', state_ref),
});
