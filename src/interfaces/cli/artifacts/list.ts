import { PAGE_ITEMS } from '../../../base/limits.ts';
import { firstItems } from '../../../base/pages.ts';
import { bytes, count, moment, parseMost } from '../human.ts';
import { plain } from '../threads/event-line.ts';
import { THREAD_FLAG } from '../threads/thread-choice.ts';
import { readCommand } from '../threads/thread-read.ts';

export default readCommand('listings', {
  details: 'Piped: ref, type, bytes, tokens and name.',
  flags: {
    count: { short: 'n', value: 'N', help: `so many at most (${PAGE_ITEMS})` },
    all: { help: 'every one' },
    ...THREAD_FLAG,
  },
  examples: [
    ['relay artifact list', 'of the thread used last'],
    ['relay artifact list --thread 550e84 --json', 'with previews, hashes and provenance'],
  ],
  async ask({ threads, id }, call) {
    const most = parseMost(call.flags, PAGE_ITEMS);
    const { items, ...more } = await firstItems('artifacts', most, (o) =>
      threads.artifacts(id, { ...o, counted: false }),
    );
    return { artifacts: items, ...more };
  },
  print({ artifacts, more }, { interactive, style, typed }) {
    if (artifacts.length === 0)
      return interactive ? style.dim(typed('None yet. Store one with: relay artifact put FILE')) : '';
    const cells = artifacts.map(({ type, size, tokens: { content } }) =>
      interactive ? [type, bytes(size), `${count(content)} tokens`] : [type, String(size), String(content)],
    );
    const widths = [0, 1, 2].map((i) => Math.max(...cells.map((row) => row[i]!.length)));
    const lines = artifacts.map(({ ref, name, created_at }, i) => {
      const [type, size, cost] = cells[i]!;
      const figures = `${type!.padEnd(widths[0]!)}  ${size!.padStart(widths[1]!)}  ${cost!.padStart(widths[2]!)}`;
      const when = interactive ? `  ${style.dim(moment(created_at))}` : '';
      return `${style.cyan(ref)}  ${figures}  ${plain(name)}${when}`;
    });
    if (more && interactive) lines.push(style.dim(typed('There are older ones: relay artifact list --all')));
    return lines.join('\n');
  },
});
