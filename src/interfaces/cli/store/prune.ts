import { defineCommand } from '../command.ts';
import { bytes, plural } from '../human.ts';

export default defineCommand({
  details:
    'What has expired is invisible at once; this reclaims its space. A running server does so by itself.',
  examples: [['relay prune', 'sweep the local store']],
  async run({ io, host }) {
    await using store = await host.openStore();
    const swept = await store.sweep();
    const nothing = swept.blobs === 0 && swept.records === 0;
    io.result(swept, () =>
      nothing
        ? 'nothing to prune'
        : `pruned ${plural(swept.blobs, 'payload')} and ${plural(swept.records, 'record')}, ${bytes(swept.bytes)}`,
    );
  },
});
