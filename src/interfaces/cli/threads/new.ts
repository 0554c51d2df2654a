import { defineCommand } from '../command.ts';
import { useThread } from './thread-choice.ts';

export default defineCommand({
  details: `A thread holds versioned state, artifacts and the events of both. From here on it is the one that other
commands mean where none is named. Piped, the id alone is printed.`,
  flags: { name: { short: 'n', value: 'NAME', help: 'what it is about; need not be unique' } },
  examples: [
    ['relay thread new --name "my-first-run"', 'prints its thread_id'],
    ['export RELAY_THREAD=$(relay thread new)', 'the one that this shell means from now on'],
  ],
  async run({ io, host, flags }) {
    await using open = await host.openClient();
    const created = await open.relay.threads.create({ name: flags.name });
    await useThread(host, created.thread_id);
    io.result(created, () =>
      io.interactive ? `${io.style.dim('thread_id')}  ${created.thread_id}` : created.thread_id,
    );
  },
});
