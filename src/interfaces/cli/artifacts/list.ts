import { PAGE_ITEMS } from '../../../base/limits.ts';
import type { Artifact } from '../../../contract/threads/artifacts.ts';
import { defineCommand } from '../command.ts';
import { bytes, count, moment, parseMost } from '../human.ts';
import { plain } from '../threads/event-line.ts';
import { chooseThread, everyArtifact, THREAD_FLAG } from '../threads/thread-choice.ts';

export default defineCommand({
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
  async run({ io, host, flags }) {
    const most = parseMost(flags, PAGE_ITEMS);
    await using open = await host.openClient();
    const id = await chooseThread({ io, host }, open, flags.thread);
    const artifacts: Artifact[] = [];
    let more = false;
    for await (const artifact of everyArtifact(open.relay.threads, id, most)) {
      more = artifacts.length === most;
      if (more) break;
      artifacts.push(artifact);
    }
    io.result({ artifacts, ...(more ? { more } : {}) }, () => {
      if (artifacts.length === 0)
        return io.interactive ? io.style.dim('None yet. Store one with: relay artifact put FILE') : '';
      const cells = artifacts.map(({ type, size, tokens: { content } }) =>
        io.interactive
          ? [type, bytes(size), `${count(content)} tokens`]
          : [type, String(size), String(content)],
      );
      const widths = [0, 1, 2].map((i) => Math.max(...cells.map((row) => row[i]!.length)));
      const now = Date.now();
      const lines = artifacts.map(({ ref, name, created_at }, i) => {
        const [type, size, cost] = cells[i]!;
        const figures = `${type!.padEnd(widths[0]!)}  ${size!.padStart(widths[1]!)}  ${cost!.padStart(widths[2]!)}`;
        const when = io.interactive ? `  ${io.style.dim(moment(Date.parse(created_at), now))}` : '';
        return `${io.style.cyan(ref)}  ${figures}  ${plain(name)}${when}`;
      });
      if (more && io.interactive) lines.push(io.style.dim('There are older ones: relay artifact list --all'));
      return lines.join('\n');
    });
  },
});
