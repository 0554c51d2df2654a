import { answerCommand } from '../command.ts';
import { bytes, plural } from '../human.ts';

export default answerCommand({
  details:
    'What has expired is invisible at once; this reclaims its space. A running server does so by itself.',
  examples: [['relay prune', 'sweep the local store']],
  async ask({ host }) {
    await using store = await host.openStore();
    return await store.sweep();
  },
  print: (swept) =>
    swept.blobs === 0 && swept.records === 0
      ? 'nothing to prune'
      : `pruned ${plural(swept.blobs, 'payload')} and ${plural(swept.records, 'record')}, ${bytes(swept.bytes)}`,
});
