import { defineCommand } from '../command.ts';
import { chooseThread, THREAD_FLAG } from '../threads/thread-choice.ts';

export default defineCommand({
  details: `At most 2 048 bytes and 500 tokens however large the state is; the same state gives the same bytes. The
newest facts, the constraints, what is open, what comes next, and refs to what is stored. Reading it is counted in
relay stats.`,
  flags: { ...THREAD_FLAG },
  examples: [
    ['relay state header --thread 550e84', 'token-efficient'],
    ['claude -p "$(relay state header) Go on with the next step."', 'in front of a prompt'],
  ],
  async run({ io, host, flags }) {
    await using open = await host.openClient();
    const header = await open.relay.threads.header(await chooseThread({ io, host }, open, flags.thread));
    io.result(header, () => JSON.stringify(header, null, io.interactive ? 2 : undefined));
  },
});
