import { answerCommand } from '../command.ts';
import { openThread, THREAD_FLAG } from '../threads/thread-choice.ts';

export default answerCommand({
  details: `At most 2 048 bytes and 500 tokens however large the state is; the same state gives the same bytes. The
newest facts, the constraints, what is open, what comes next, and refs to what is stored. Piped, reading it is
counted in relay stats.`,
  flags: THREAD_FLAG,
  examples: [
    ['relay state header --thread 550e84', 'token-efficient'],
    ['claude -p "$(relay state header) Go on with the next step."', 'in front of a prompt'],
  ],
  async ask(call) {
    const { threads, id } = await openThread(call);
    return threads.header(id, { counted: !call.io.interactive });
  },
  print: (header, io) => JSON.stringify(header, null, io.interactive ? 2 : undefined),
});
