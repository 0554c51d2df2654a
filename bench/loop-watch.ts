import { writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/**
 * Loaded into a server before it starts. Writes to the file BENCH_LOOP_FIGURES the longest time, in ms of CPU, that its event
 * loop took between two looks 5 ms apart: by so much, and 5 ms less, one piece of work held up all others. Wall time would
 * count what else runs on the machine.
 */
const LOOK_MS = 5;

/** Starting takes long and is not what is measured. */
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
    setInterval(look, LOOK_MS).unref();
  }, START_MS).unref();
}

if (isMainThread && process.env.BENCH_LOOP_FIGURES) watch(process.env.BENCH_LOOP_FIGURES);
