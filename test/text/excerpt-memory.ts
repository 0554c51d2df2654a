import { ownTextWork } from '../../src/app/store/own-text-work.ts';
import { ExcerptBuilder } from '../../src/text/excerpt/excerpt.ts';

// Makes the excerpt of a log and prints the peak memory in KiB. The first argument is the size of the log in MB.
const encoder = new TextEncoder();
const chunks = Array.from({ length: 100 }, (_, c) => {
  const lines = Array.from({ length: 600 }, (_, i) => {
    const n = 600 * c + i;
    const id = Math.imul(n, 2654435761) >>> 0;
    return n % 1000 === 7
      ? `2026-11-01T10:00:00Z ERROR job ${n} of user${id % 97} failed: ${id.toString(36)} is unknown\n    at step${id % 31} (job.ts:${id % 500})\n`
      : `2026-11-01T10:00:00Z INFO ${id.toString(36).replace(/\d/g, '')} job ${n} done, ${id % 1000} ms, no error\n`;
  });
  return encoder.encode(lines.join(''));
});
const builder = new ExcerptBuilder({ counter: ownTextWork, question: 'which job failed?' });
for (let n = 0, bytes = 0; bytes < Number(process.argv[2]) * 1e6; n++) {
  const chunk = chunks[n % chunks.length]!;
  bytes += chunk.length;
  builder.write(chunk);
}
const { lines } = await builder.finish();
console.log(JSON.stringify({ lines, kib: process.resourceUsage().maxRSS }));
