import { everyItem } from '../../../base/pages.ts';
import type { ThreadEvent } from '../../../contract/threads/answers.ts';
import { defineCommand } from '../command.ts';
import { parseCount } from '../human.ts';
import { interruption } from '../io.ts';
import { eventLine } from './event-line.ts';
import { newestEvents } from './newest-events.ts';
import { openThread, THREAD_FLAG } from './thread-choice.ts';

export default defineCommand({
  usage: '[<id>]',
  details: 'One line an event, oldest first. With --json each line is the whole event.',
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
  async run(call) {
    const { io, args, flags } = call;
    const most = flags.all ? Number.POSITIVE_INFINITY : (parseCount(flags.count, '--count') ?? 10);
    const show = (event: ThreadEvent) => {
      if (io.json) io.stdout.write(`${JSON.stringify(event)}\n`);
      else io.print(eventLine(event, io));
    };
    const { threads, id } = await openThread(call, { word: args[0] });
    if (flags.follow) {
      using interrupted = interruption();
      const { event_count } = await threads.get(id);
      const after = String(Math.max(0, event_count - most));
      for await (const event of threads.watch(id, { after, signal: interrupted.signal })) show(event);
    } else if (flags.all) {
      for await (const event of everyItem('events', ({ after = '0' }) => threads.events(id, { after })))
        show(event);
    } else {
      for (const event of await newestEvents(threads, id, { most })) show(event);
    }
  },
});
