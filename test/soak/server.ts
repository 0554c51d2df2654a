import { readFileSync } from 'node:fs';

/**
 * The relay with a clock that a test can set: what is in the file named by SOAK_CLOCK, in ms, is added to the time. The
 * product knows nothing of it.
 */
const real = Date.now;
let shift = 0;
const look = () => {
  try {
    shift = Number(readFileSync(process.env.SOAK_CLOCK!, 'utf8')) || 0;
  } catch {
    // It is being written; the next look finds it.
  }
};
look();
setInterval(look, 100).unref();
Date.now = () => real() + shift;

await import('../../bin/relay.ts');
