import { badUsage, defineCommand } from '../command.ts';
import { chooseThread, THREAD_FLAG } from '../threads/thread-choice.ts';

export default defineCommand({
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
  async run({ io, host, flags }) {
    if (flags.to === undefined) {
      throw badUsage(
        'There is no version to go back to.',
        'Use: relay state revert --to v3. See what there is: relay state log',
      );
    }
    await using open = await host.openClient();
    const id = await chooseThread({ io, host }, open, flags.thread, { use: true });
    const answer = await open.relay.threads.revert(id, { to: flags.to, if_match: flags['if-match'] });
    io.result(answer, () =>
      io.interactive ? `${io.style.dim('state_ref')}  ${answer.state_ref}` : answer.state_ref,
    );
  },
});
