import { writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/**
 * Node loads this file before a server starts. The file samples the event loop every 5 ms and writes the largest CPU
 * time between two samples, in ms, to the path in the environment variable BENCH_LOOP_FIGURES. This is the longest time
 * for which one task blocked the event loop, up to 5 ms too high. CPU time is measured, because wall time would include
 * the time of other processes.
 */

const SAMPLE_MS = 5;

/** Time in ms after the start that is not measured, because starting blocks the event loop. */
const START_MS = 2_000;

function watch(file: string): void {
  let before = process.threadCpuUsage();
  let longest = 0;
  const look = () => {
    const { user, system } = process.threadCpuUsage(before);
    before = process.threadCpuUsage();
    const ms = (user + system) / 1000;
    if (ms <= longest) return;
    longest = ms;
    writeFileSync(file, String(longest));
  };
  setTimeout(() => {
    before = process.threadCpuUsage();
    setInterval(look, SAMPLE_MS).unref();
  }, START_MS).unref();
}

if (isMainThread && process.env.BENCH_LOOP_FIGURES) watch(process.env.BENCH_LOOP_FIGURES);
