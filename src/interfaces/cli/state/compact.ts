import { answerCommand } from '../command.ts';
import { labelled, plural } from '../human.ts';
import { openThread, THREAD_FLAG } from '../threads/thread-choice.ts';

export default answerCommand({
  details: `Repeated actions are put together; of actions and artifact refs the newest stay, and whatever is still
referred to. It makes a version, and every earlier one can still be read. A long session does this by itself.`,
  flags: THREAD_FLAG,
  examples: [['relay state compact --thread 550e84', 'says what was left out']],
  async ask(call) {
    const { threads, id } = await openThread(call, { use: true });
    return threads.compact(id);
  },
  print: ({ state_ref, dropped }, io) =>
    labelled(io, 'state_ref', state_ref, [
      `${plural(dropped.actions, 'action')} and ${plural(dropped.artifacts, 'artifact ref')} left out`,
    ]),
});
