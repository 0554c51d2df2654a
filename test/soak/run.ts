/**
 * `npm run soak` runs for three minutes, `npm run soak -- --minutes 60` for an hour. The exit code is 1 if data was
 * lost, if memory grew, or if no write was acknowledged. `npm run soak -- --pushes 20000` instead kills pushing
 * processes until this many pushes are acknowledged.
 */
import { parseArgs } from 'node:util';
import { killedWriters } from './killed-writers.ts';
import { soak } from './soak.ts';

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '3' }, pushes: { type: 'string' } },
});
if (values.pushes !== undefined) await killWriters(Number(values.pushes));
const minutes = Number(values.minutes);
if (!(minutes > 0)) {
  console.error('--minutes must be a number above 0.');
  process.exit(2);
}
const interrupted = new AbortController();
// The first signal ends the run early, with all checks. A second signal kills the process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort());
const { losses, noDisk, statuses, attacks, ...counts } = await soak(minutes * 60_000, {
  interrupted: interrupted.signal,
  onProgress: console.log,
});
for (const [name, count] of Object.entries(counts)) console.log(`${name.padEnd(20)}${count}`);
console.log(`answers             ${JSON.stringify(statuses)}`);
for (const [name, answers] of Object.entries(attacks))
  console.log(`attack ${name.padEnd(13)}${JSON.stringify(answers)}`);
if (noDisk !== null) console.log(`No disk was filled: one cannot be mounted here (${noDisk}).`);
for (const loss of losses.slice(0, 50)) console.log(`LOST: ${loss}`);
console.log(losses.length === 0 ? 'Nothing was lost.' : `${losses.length} losses.`);
// Do not judge short runs, because the memory of a new server still grows.
const grew = counts.steadySeconds >= 300 && counts.rssLastQuarter > 1.5 * counts.rssFirstQuarter;
if (grew) console.log('The memory of the server grew by more than half.');
process.exitCode = losses.length === 0 && !grew && counts.acknowledged > 0 ? 0 : 1;

async function killWriters(pushes: number): Promise<never> {
  if (!(pushes > 0)) {
    console.error('--pushes must be a number above 0.');
    process.exit(2);
  }
  const began = performance.now();
  const { losses, ...counts } = await killedWriters(pushes);
  console.log(JSON.stringify({ seconds: Math.round((performance.now() - began) / 1000), ...counts }));
  for (const loss of losses) console.log(`LOST: ${loss}`);
  console.log(losses.length === 0 ? 'Nothing was lost.' : `${losses.length} losses.`);
  process.exit(losses.length === 0 ? 0 : 1);
}
