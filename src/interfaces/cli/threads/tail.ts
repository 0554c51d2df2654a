import type { ThreadEvent } from '../../../contract/threads/answers.ts';
import { defineCommand } from '../command.ts';
import { parseCount } from '../human.ts';
import { type Io, interruption } from '../io.ts';
import { eventLine } from './event-line.ts';
import { newestEvents } from './newest-events.ts';
import { chooseThread, THREAD_FLAG, threadWord } from './thread-choice.ts';

export default defineCommand({
  usage: '[<id>]',
  details: 'One line an event, oldest first. With --json each line is the whole event.',
  takes: { max: 1 },
  flags: {
    follow: { short: 'f', help: 'go on and show what is new' },
    count: { short: 'n', value: 'N', help: 'begin with so many of the newest (10)' },
    all: { help: 'begin with the first one' },
    ...THREAD_FLAG,
  },
  examples: [
    ['relay tail', 'the newest ten of the thread used last'],
    ['relay tail 550e84 --follow', 'watch agents at work on it'],
    ['relay tail --all --json', 'the whole history as JSON lines'],
  ],
  async run({ io, host, args, flags }) {
    const most = flags.all ? Number.POSITIVE_INFINITY : parseCount(flags.count ?? '10', '--count');
    await using open = await host.openClient({
      onConnection: (lost) => io.note(lost ? `${lost.message} Trying again…` : 'connected again'),
    });
    const { threads } = open.relay;
    const id = await chooseThread({ io, host }, open, threadWord('tail', args[0], flags.thread));
    if (!flags.follow) {
      if (!flags.all) for (const event of await newestEvents(threads, id, { most })) show(io, event);
      for (let after: string | undefined = '0'; flags.all && after !== undefined; ) {
        const page: { events: ThreadEvent[]; next?: string } = await threads.events(id, { after });
        for (const event of page.events) show(io, event);
        after = page.next;
      }
      return;
    }
    using interrupted = interruption();
    const { signal } = interrupted;
    const { event_count } = await threads.get(id);
    const after = String(Math.max(0, event_count - most));
    for await (const event of threads.watch(id, { after, signal })) show(io, event);
  },
});

function show(io: Io, event: ThreadEvent): void {
  if (io.json) io.stdout.write(`${JSON.stringify(event)}\n`);
  else io.print(eventLine(event, io));
}
