import { answerCommand } from '../command.ts';
import { bytes, count, rows } from '../human.ts';

export default answerCommand({
  examples: [
    ['relay du', 'of the local store'],
    ['relay du --json', 'in bytes'],
  ],
  async ask({ host }) {
    await using store = await host.openStore();
    return { home: host.home, ...(await store.usage()) };
  },
  print: ({ home, blobs, records, entries, diskBytes, bucket }, { style }) =>
    rows(style.dim, [
      ['payloads', `${count(blobs.count)}, ${bytes(blobs.bytes)}`],
      ['records', count(records)],
      ['log entries', count(entries)],
      ['on disk', `${bytes(diskBytes)} in ${home}`],
      ...(bucket
        ? [
            [
              'in the bucket',
              `${bucket.bytes === null ? 'no answer' : bytes(bucket.bytes)} in ${bucket.name}`,
            ] as const,
          ]
        : []),
    ]),
});
