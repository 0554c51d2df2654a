/** `npm run soak`: three minutes by default, `npm run soak -- --minutes 60` for an hour. Exit code 1 on any loss. */
import { parseArgs } from 'node:util';
import { soak } from './soak.ts';

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '3' } } });
const minutes = Number(values.minutes);
if (!(minutes > 0)) {
  console.error('--minutes is a number above 0.');
  process.exit(2);
}
const interrupted = new AbortController();
// Once: it ends as if the time were up. Whoever is in a hurry asks twice.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort());
const { losses, noDisk, statuses, ...counts } = await soak(minutes * 60_000, interrupted.signal);
for (const [name, count] of Object.entries(counts)) console.log(`${name.padEnd(14)}${count}`);
console.log(`answers       ${JSON.stringify(statuses)}`);
if (noDisk !== null) console.log(`No disk was filled: one cannot be mounted here (${noDisk}).`);
for (const loss of losses.slice(0, 50)) console.log(`LOST: ${loss}`);
console.log(losses.length === 0 ? 'Nothing was lost.' : `${losses.length} losses.`);
process.exitCode = losses.length === 0 && counts.acknowledged > 0 ? 0 : 1;
