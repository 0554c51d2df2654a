import { PAGE_ITEMS_MAX } from '../../../base/limits.ts';
import type { ThreadItem } from '../../../contract/threads/answers.ts';
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
  async run({ io, host, flags }) {
    if (flags.all && flags.count !== undefined) {
      throw badUsage('--all and --count do not go together.', 'Use one.');
    }
    const most = parseMost(flags, 20);
    await using open = await host.openClient();
    const threads: ThreadItem[] = [];
    let more = false;
    for (let after: string | undefined; ; ) {
      const limit = Math.min(PAGE_ITEMS_MAX, most - threads.length);
      const page = await open.relay.threads.list({ after, limit });
      threads.push(...page.threads);
      more = page.next !== undefined;
      if (!more || threads.length >= most) break;
      after = page.next;
    }
    const last = (await host.threadMemory()).get();
    io.result({ threads, ...(more ? { more } : {}) }, () => {
      if (!io.interactive)
        return threads.map((t) => `${t.thread_id}  ${t.created_at}  ${plain(t.name)}`.trimEnd()).join('\n');
      if (threads.length === 0)
        return io.style.dim('There are no threads yet. Begin with: relay thread new --name my-first-run');
      const now = Date.now();
      const times = threads.map(({ created_at }) => moment(Date.parse(created_at), now));
      const width = Math.max(...times.map((time) => time.length)) + 2;
      const lines = threads.map(({ thread_id, name }, i) => {
        const star = thread_id === last ? '* ' : '  ';
        return `${star}${io.style.cyan(thread_id)}  ${io.style.dim(times[i]!.padEnd(width))}${plain(name)}`;
      });
      if (more) lines.push(io.style.dim('  There are older ones: relay runs --all'));
      return lines.join('\n');
    });
  },
});
