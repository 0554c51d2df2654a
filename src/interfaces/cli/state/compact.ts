import { defineCommand } from '../command.ts';
import { plural } from '../human.ts';
import { chooseThread, THREAD_FLAG } from '../threads/thread-choice.ts';

export default defineCommand({
  details: `Repeated actions are put together; of actions and artifact refs the newest stay, and whatever is still
referred to. It makes a version, and every earlier one can still be read. A long session does this by itself.`,
  flags: { ...THREAD_FLAG },
  examples: [['relay state compact --thread 550e84', 'says what was left out']],
  async run({ io, host, flags }) {
    await using open = await host.openClient();
    const id = await chooseThread({ io, host }, open, flags.thread, { use: true });
    const answer = await open.relay.threads.compact(id);
    const { state_ref, dropped } = answer;
    io.result(answer, () => {
      if (!io.interactive) return state_ref;
      const left = `${plural(dropped.actions, 'action')} and ${plural(dropped.artifacts, 'artifact ref')} left out`;
      return `${io.style.dim('state_ref')}  ${state_ref}\n${io.style.dim(left)}`;
    });
  },
});
