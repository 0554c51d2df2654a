import { defineCommand } from '../command.ts';
import { bytes, count, rows } from '../human.ts';

export default defineCommand({
  examples: [
    ['relay du', 'of the local store'],
    ['relay du --json', 'in bytes'],
  ],
  async run({ io, host }) {
    await using store = await host.openStore();
    const usage = await store.usage();
    io.result({ home: host.home, ...usage }, () =>
      rows(io.style.dim, [
        ['payloads', `${count(usage.blobs.count)}, ${bytes(usage.blobs.bytes)}`],
        ['records', count(usage.records)],
        ['log entries', count(usage.entries)],
        ['on disk', `${bytes(usage.diskBytes)} in ${host.home}`],
      ]),
    );
  },
});
