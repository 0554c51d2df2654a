import { firstItems } from '../../../base/pages.ts';
import { badUsage, defineCommand } from '../command.ts';
import { moment, parseMost } from '../human.ts';
import { plain } from './event-line.ts';

export default defineCommand({
  details: 'The one that is meant where none is named has a star. Piped: id, moment of its making and name.',
  flags: { count: { short: 'n', value: 'N', help: 'so many at most (20)' }, all: { help: 'every one' } },
  examples: [
    ['relay runs', 'the newest 20'],
    ['relay runs --all --json | jq -r ".threads[].thread_id"', 'the ids of all of them'],
  ],
  async run({ io, host, flags, open }) {
    if (flags.all && flags.count !== undefined) {
      throw badUsage('--all and --count do not go together.', 'Use one.');
    }
    const most = parseMost(flags, 20);
    const { relay } = await open();
    const { items: threads, ...more } = await firstItems('threads', most, (o) => relay.threads.list(o));
    const last = (await host.threadMemory()).get();
    const { interactive, style } = io;
    io.result({ threads, ...more }, () => {
      if (!interactive)
        return threads.map((t) => `${t.thread_id}  ${t.created_at}  ${plain(t.name)}`.trimEnd()).join('\n');
      if (threads.length === 0)
        return style.dim(
          io.typed('There are no threads yet. Begin with: relay thread new --name my-first-run'),
        );
      const times = threads.map(({ created_at }) => moment(created_at));
      const width = Math.max(...times.map((time) => time.length)) + 2;
      const lines = threads.map(({ thread_id, name }, i) => {
        const star = thread_id === last ? '* ' : '  ';
        return `${star}${style.cyan(thread_id)}  ${style.dim(times[i]!.padEnd(width))}${plain(name)}`;
      });
      if (more.more) lines.push(style.dim(io.typed('  There are older ones: relay runs --all')));
      return lines.join('\n');
    });
  },
});
